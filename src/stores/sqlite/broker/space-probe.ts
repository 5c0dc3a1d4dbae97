// Room probe: asks the disk for a little room before a failed store is read anew. Reading takes as
// long as there are messages, and a disk that is still full would fail the very next commit.

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const PROBE_FILE = "broker.probe";
/** About what a busy turn commits at once. */
const PROBE_BYTES = 256 * 1_024;

/** Throws what the system said if the folder does not take that much; leaves nothing behind. */
export function probeSpace(folder: string): void {
  const path = join(folder, PROBE_FILE);
  try {
    const descriptor = openSync(path, "w");
    try {
      const bytes = Buffer.alloc(PROBE_BYTES, 1);
      for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } finally {
    rmSync(path, { force: true });
  }
}
