// Feed: generated files that `tidegate dev --feed` puts into the bucket. A user's module yields them.
//   E1. A feed may end; the pipeline continues without it. A failing feed is reported and ends.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

/** One object for the pipeline's bucket. */
export interface FeedFile {
  /** The object key. */
  readonly key: string;
  readonly body: string | Uint8Array;
  /** How long to wait before the file is put. */
  readonly waitMs?: number;
}

/** The default export of a feed module. `tidegate dev` puts each file it yields into the bucket. */
export type Feed = () => Iterable<FeedFile> | AsyncIterable<FeedFile>;

const WAIT_MS_MAX = 60_000;
const FILES_MAX = 100_000;

/** The default export of a module: a function that yields files. */
export async function loadFeed(file: string): Promise<Feed> {
  const module = await import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
    const message = `cannot load the feed ${file}: ${reasonOf(error)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  });
  if (typeof module.default === "function") return module.default;
  const reason = "its default export must be a function that yields files";
  throw new TidegateError("TG_CONFIG_INVALID", `${file} is not a feed; ${reason}`);
}

/** Puts the files of a feed, at its pace; resolves to their number. */
export async function runFeed(
  ports: { readonly clock: Clock },
  feed: Feed,
  options: {
    readonly put: (key: string, body: string | Uint8Array) => Promise<void>;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const { put, signal } = options;
  let files = 0;
  for await (const { key, body, waitMs = 0 } of feed()) {
    const wait = durationMs(Math.min(Math.max(0, Math.trunc(waitMs)), WAIT_MS_MAX));
    if (wait > 0) await ports.clock.sleep(wait, signal).catch(() => undefined);
    if (signal.aborted || files >= FILES_MAX) break;
    await put(key, body);
    files += 1;
  }
  return files;
}
