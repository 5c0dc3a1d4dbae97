// Inbox: a folder whose files become objects: drop one in, and the pipeline gets it.
//   I1. A file is taken once its size and time were the same in two looks in a row, so that one
//       that is still being written is left alone. A file that was moved in is whole already, and
//       taken at the second look as well.
//   I2. It is moved to done/ only after the put was answered. A crash in between puts it again,
//       which is the same object with the same bytes.
//   I3. Nothing in done/ is ever overwritten, and nothing is deleted.

import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import { ensureFolder } from "../open/ensure-folder.ts";

export interface InboxOptions {
  readonly folder: string;
  /** Puts the file at `path` under that name. */
  readonly put: (name: string, path: string) => Promise<void>;
  readonly onTaken?: (name: string) => void;
  /** Hears once of each file that could not be put; it is tried again at every look. */
  readonly onTrouble: (name: string, error: unknown) => void;
  readonly lookMs?: DurationMs;
}

export interface Inbox {
  /** Looks once; resolves to the names that were taken. */
  look(): Promise<readonly string[]>;
  start(): void;
  close(): Promise<void>;
}

const LOOK_MS = durationMs(400);
/** Files taken at one look; the rest waits for the next. */
const FILES_PER_LOOK_MAX = 200;
const DONE = "done";
/** Names under which programs write what is not finished. */
const UNFINISHED = /^\.|~$|\.(part|tmp|partial|crdownload|swp)$/i;

export function createInbox(ports: { readonly clock: Clock }, options: InboxOptions): Inbox {
  const { clock } = ports;
  const { folder, put, onTaken, onTrouble, lookMs = LOOK_MS } = options;
  const closing = new AbortController();
  const troubled = new Set<string>();
  let seen = new Map<string, string>();
  let looping: Promise<void> = Promise.resolve();
  ensureFolder("watched", join(folder, DONE));

  async function look(): Promise<readonly string[]> {
    const before = seen;
    seen = await marksOf(folder);
    const whole = [...seen].filter(([name, mark]) => before.get(name) === mark); // I1
    const taken: string[] = [];
    for (const [name] of whole.slice(0, FILES_PER_LOOK_MAX)) {
      if (closing.signal.aborted) break;
      if (await take(name)) taken.push(name);
    }
    return taken;
  }

  async function take(name: string): Promise<boolean> {
    try {
      await put(name, join(folder, name));
      await moveAway(name); // I2
    } catch (error) {
      if (!troubled.has(name)) onTrouble(name, error);
      troubled.add(name);
      return false;
    }
    troubled.delete(name);
    seen.delete(name);
    onTaken?.(name);
    return true;
  }

  async function moveAway(name: string): Promise<void> {
    const wanted = join(folder, DONE, name);
    const free = (await exists(wanted)) ? `${wanted}.${clock.now()}` : wanted; // I3
    await rename(join(folder, name), free);
  }

  async function loop(): Promise<void> {
    while (!closing.signal.aborted) {
      await look().catch((error: unknown) => onTrouble(folder, error));
      await clock.sleep(lookMs, closing.signal).catch(() => undefined);
    }
  }

  return {
    look,
    start() {
      looping = loop();
    },
    async close() {
      closing.abort();
      await looping;
    },
  };
}

/** Size and time of every file that may be taken; folders, links and unfinished ones are not. */
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
