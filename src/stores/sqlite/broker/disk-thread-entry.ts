// Disk thread entry: the writing thread. It has one connection and runs one transaction per
// message, synced before the answer. Its parent sends `open` once, then writes, then `close`; every
// message is answered, in order.
//   E1. The parent does not wait for an answer before it sends the next message. After a failure,
//       every later message is answered with the same failure and not carried out.
//   E2. The thread runs checkpoints itself: SQLite ignores the errors of its automatic ones. A
//       failed checkpoint fails every later request, as a failed commit does.
//   E3. A connection that failed is closed without folding its log into the file: the log may hold
//       frames that never reached the disk (N3 of renew-log.ts). SQLite folds when the last
//       connection closes, so a second one stays open while the failed one closes, also if the
//       opening fails.
//   E4. While the disk is full, a commit or a checkpoint that finds no space gives up the reserve
//       and runs again, once. SQLite has undone the first attempt, before anything was synced.

import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { present } from "../../../core/assert.ts";
import { Checkpoints } from "../checkpoints.ts";
import { orClosed } from "../open-file.ts";
import { openGuard } from "../renew-log.ts";
import { isFull } from "../sqlite-code.ts";
import { CHECKPOINT_PAGES, openWriter } from "./broker-schema.ts";
import { prepareWrites } from "./broker-statements.ts";
import type { DiskAnswer, DiskRequest, WriterLimits } from "./disk-thread.ts";
import { releaseReserve } from "./reserve.ts";

const port = present(parentPort, "the port of a worker thread");
let database: DatabaseSync | null = null;
/** Reads nothing; keeps a failed connection from being the last (E3). */
let guard: DatabaseSync | null = null;
let checkpoints: Checkpoints | null = null;
let write: ReturnType<typeof prepareWrites> | null = null;
let isOpen: Int32Array | null = null;
let path = "";
let failed: DiskAnswer | null = null;

function handle(request: DiskRequest): void {
  switch (request.kind) {
    case "open":
      isOpen = request.isOpen;
      path = request.path;
      open(openWriter(path, request.limits.pageCountMax), request.limits);
      return;
    case "write":
      checkpoints?.check(); // E2
      writeAll(request);
      return;
    default:
      close();
  }
}

function open(writer: DatabaseSync, limits: WriterLimits): void {
  orClosed(writer, path, () => {
    checkpoints = new Checkpoints(writer, {
      path,
      pages: limits.checkpointPages ?? CHECKPOINT_PAGES,
      commitsPerLook: limits.commitsPerLook,
    });
    guard = openGuard(path);
    write = prepareWrites(writer);
    database = writer;
  });
}

function writeAll({ writes, full, isLast }: Extract<DiskRequest, { kind: "write" }>): void {
  const run = present(write, "an open database");
  const isWhole = isLast && database?.isTransaction !== true;
  const folder = dirname(path);
  if (full && !isWhole) releaseReserve(folder); // E4: a part cannot be run again.
  try {
    run(writes, isLast);
  } catch (error) {
    if (!full || !isWhole || !isFull(error) || !releaseReserve(folder)) throw error;
    if (database?.isTransaction === true) database.exec("ROLLBACK");
    run(writes); // E4
  }
}

/** Folds the log into the file if every write succeeded, and leaves it as it is if not (E3). */
function close(): void {
  const isSound = failed === null && checkpoints?.failure === null;
  const [first, last] = isSound ? [guard, checkpoints] : [database, guard];
  database = null;
  guard = null;
  write = null;
  checkpoints = null;
  try {
    first?.close();
    last?.close();
  } finally {
    if (isOpen !== null) {
      Atomics.store(isOpen, 0, 0);
      Atomics.notify(isOpen, 0);
    }
  }
}

port.on("message", (request: DiskRequest) => {
  const answer = answerTo(request);
  port.postMessage(answer);
  if (request.kind === "close") port.close();
  // After the answer: the commit is durable, and its client does not wait for a checkpoint.
  else if (request.kind === "write" && request.isLast && answer.failure === null) {
    if (request.full)
      checkpoints?.cut(() => releaseReserve(dirname(path))); // E4
    else checkpoints?.afterCommit();
  }
});

function answerTo(request: DiskRequest): DiskAnswer {
  if (failed !== null && request.kind !== "close") return failed; // E1
  try {
    handle(request);
    return { failure: null };
  } catch (error) {
    if (request.kind === "close") return { failure: failureOf(error) };
    return fail(error);
  }
}

/** What reached the disk is unknown from here on, so this thread writes nothing more. */
function fail(error: unknown): DiskAnswer {
  failed = { failure: failureOf(error) };
  closeQuietly();
  return failed;
}

function closeQuietly(): void {
  try {
    close();
  } catch {
    // Report the failure that led here.
  }
}

/** An error loses its own properties between threads; these are the ones needed. */
function failureOf(error: unknown): DiskAnswer["failure"] {
  const { message, code, errcode } = error as Error & { code?: string; errcode?: number };
  return { message: String(message ?? error), code, errcode };
}
