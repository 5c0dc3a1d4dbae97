// Inbox: a watched folder whose files are put into the bucket.
//   I1. A file is put once two scans in a row found the same size and time, so that a file that is
//       still being written is skipped. A file that was moved in is complete, and also waits for
//       the second scan.
//   I2. It is moved to done/ only after the put has succeeded. A crash in between puts it again:
//       the same object with the same bytes.
//   I3. Files in done/ are never overwritten, and no file is deleted.

import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import { ensureFolder } from "../open/ensure-folder.ts";

export interface InboxOptions {
  readonly folder: string;
  /** Puts the file at `path` under `name`. */
  readonly put: (name: string, path: string) => Promise<void>;
  readonly onPut?: (name: string) => void;
  /** Called once per file that could not be put; each scan tries it again. */
  readonly onFailure: (name: string, error: unknown) => void;
  readonly scanMs?: DurationMs;
}

export interface Inbox {
  /** Scans once; resolves to the names of the files that were put. */
  scan(): Promise<readonly string[]>;
  start(): void;
  close(): Promise<void>;
}

const SCAN_MS = durationMs(400);
/** Files per scan; the rest waits for the next one. */
const FILES_PER_SCAN_MAX = 200;
const DONE = "done";
/** Names of unfinished files. */
const UNFINISHED = /^\.|~$|\.(part|tmp|partial|crdownload|swp)$/i;

export function createInbox(ports: { readonly clock: Clock }, options: InboxOptions): Inbox {
  const { clock } = ports;
  const { folder, put, onPut, onFailure, scanMs = SCAN_MS } = options;
  const closing = new AbortController();
  const failing = new Set<string>();
  let marks = new Map<string, string>();
  let looping: Promise<void> = Promise.resolve();
  ensureFolder("watched", join(folder, DONE));

  async function scan(): Promise<readonly string[]> {
    const previous = marks;
    marks = await marksOf(folder);
    const complete = [...marks].filter(([name, mark]) => previous.get(name) === mark); // I1
    const names: string[] = [];
    for (const [name] of complete.slice(0, FILES_PER_SCAN_MAX)) {
      if (closing.signal.aborted) break;
      if (await putFile(name)) names.push(name);
    }
    return names;
  }

  async function putFile(name: string): Promise<boolean> {
    try {
      await put(name, join(folder, name));
      await moveAway(name); // I2
    } catch (error) {
      if (!failing.has(name)) onFailure(name, error);
      failing.add(name);
      return false;
    }
    failing.delete(name);
    marks.delete(name);
    onPut?.(name);
    return true;
  }

  async function moveAway(name: string): Promise<void> {
    const target = join(folder, DONE, name);
    const free = (await exists(target)) ? `${target}.${clock.now()}` : target; // I3
    await rename(join(folder, name), free);
  }

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      await scan().catch((error: unknown) => onFailure(folder, error));
      await clock.sleep(scanMs, closing.signal).catch(() => undefined);
    }
  }

  return {
    scan,
    start() {
      looping = loop();
    },
    async close() {
      closing.abort();
      await looping;
    },
  };
}

/** Size and time of every file; folders, links and unfinished files are skipped. */
async function marksOf(folder: string): Promise<Map<string, string>> {
  const marks = new Map<string, string>();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile() || UNFINISHED.test(entry.name)) continue;
    const facts = await stat(join(folder, entry.name)).catch(() => null);
    if (facts !== null) marks.set(entry.name, `${facts.size} ${facts.mtimeMs} ${facts.ino}`);
  }
  return marks;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
