// Disk thread entry: the writing thread. It has one connection and runs one transaction per
// message, synced before the answer. Its parent sends `open` once, then writes, then `close`; every
// message is answered, in order.
//   E1. The parent does not wait for an answer before it sends the next message. After a failure,
//       every later message is answered with the same failure and not carried out.

import type { DatabaseSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { present } from "../../../core/assert.ts";
import { openWriter } from "./broker-schema.ts";
import { prepareWrites } from "./broker-statements.ts";
import type { DiskAnswer, DiskRequest } from "./disk-thread.ts";

const port = present(parentPort, "the port of a worker thread");
let database: DatabaseSync | null = null;
let write: ReturnType<typeof prepareWrites> | null = null;
let isOpen: Int32Array | null = null;
let failed: DiskAnswer | null = null;

function handle(request: DiskRequest): void {
  switch (request.kind) {
    case "open":
      isOpen = request.isOpen;
      database = openWriter(request.path, request.pageCountMax);
      write = prepareWrites(database);
      return;
    case "write":
      present(write, "an open database")(request.writes);
      return;
    default:
      close();
  }
}

/** Closing rolls back an open transaction and merges the log into the file. */
function close(): void {
  const open = database;
  database = null;
  write = null;
  try {
    open?.close();
  } finally {
    if (isOpen !== null) {
      Atomics.store(isOpen, 0, 0);
      Atomics.notify(isOpen, 0);
    }
  }
}

port.on("message", (request: DiskRequest) => {
  port.postMessage(answerTo(request));
  if (request.kind === "close") port.close();
});

function answerTo(request: DiskRequest): DiskAnswer {
  if (failed !== null && request.kind !== "close") return failed; // E1
  try {
    handle(request);
    return { failure: null };
  } catch (error) {
    const answer = { failure: failureOf(error) };
    if (request.kind === "close") return answer;
    // What reached the disk is unknown from here on, so this thread writes nothing more.
    failed = answer;
    closeQuietly();
    return answer;
  }
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
