// Feed: files that a module of the user's makes up and `tidegate dev --feed` puts, so that there is
// something to look at.
//   E1. A feed may end; the pipeline goes on without it. One that fails is told of and ends.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

export interface FeedFile {
  readonly key: string;
  readonly body: string | Uint8Array;
  /** How long to wait before it is put. */
  readonly waitMs?: number;
}

export type Feed = () => Iterable<FeedFile> | AsyncIterable<FeedFile>;

const WAIT_MS_MAX = 60_000;
/** Nobody watches longer than that. */
const FILES_MAX = 100_000;

/** The feed that a module exports as its default: a function that gives files. */
export async function loadFeed(file: string): Promise<Feed> {
  const module = await import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
    const message = `the feed ${file} cannot be loaded: ${reasonOf(error)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  });
  if (typeof module.default === "function") return module.default;
  const wanted = "its default export must be a function that gives files";
  throw new TidegateError("TG_CONFIG_INVALID", `${file} is no feed: ${wanted}`);
}

/** Puts what a feed gives, at its pace; resolves to how many files it were. */
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
