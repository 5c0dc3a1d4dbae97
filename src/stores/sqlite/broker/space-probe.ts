// Space probe: asks the disk for a little space before a failed store is loaded again. Loading
// takes time for every message, and a disk that is still full would fail the very next commit.

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const PROBE_FILE = "broker.probe";
/** About the size of a busy turn's commit. */
const PROBE_BYTES = 256 * 1_024;

/** Throws the system's error if the space is not available; leaves no file behind. */
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
