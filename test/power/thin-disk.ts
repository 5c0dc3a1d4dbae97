// Thin disk: a real ext4 on a loop device whose backing has less space than the file system
// believes. While it is full, ext4 accepts writes and fails their sync.
//   D1. The backing is a sparse file in a small tmpfs. Its metadata and its journal come first and
//       have their space, so only new blocks of files fail and the file system stays writable.
//   D2. A power cut is a copy of the backing, while the file system is still mounted and without a
//       sync: what is only in the page cache is gone. Mounting the copy replays the journal.
//   D3. A test beside this one may have a mount namespace, which keeps a copy of every mount. So a
//       mount is detached, and ends with the last of its copies.

import { execFileSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const DISK_MB = 120;
const BACKING_MB = 48;
const METADATA_MB = 12;
const CHUNK_BYTES = 4_096;

export interface ThinDisk {
  /** Takes the rest of the backing's space. */
  fill(): void;
  free(): void;
  /** Mounts at `target` what a power cut now leaves (D2). */
  mountAfterCut(target: string): void;
  unmount(): void;
}

/** Mounts a thin disk at `mount`; keeps its files in `folder`. */
export function mountThinDisk(folder: string, mount: string): ThinDisk {
  const backing = join(folder, "backing");
  const image = join(backing, "image");
  const ballast = join(backing, "ballast");
  const mounted: string[] = [];
  const mountAt = (target: string, args: readonly string[]) => {
    mkdirSync(target, { recursive: true });
    run("mount", [...args, target]);
    mounted.unshift(target);
  };
  mountAt(backing, ["-t", "tmpfs", "-o", `size=${BACKING_MB}m`, "tmpfs"]);
  formatDisk(image);
  mountAt(mount, ["-o", "loop,commit=300", image]);
  return {
    fill: () => fillUp(ballast),
    free: () => rmSync(ballast, { force: true }),
    mountAfterCut(target) {
      const copy = join(folder, "after-cut");
      copyFileSync(image, copy); // D2
      mountAt(target, ["-o", "loop", copy]);
    },
    unmount: () => {
      for (const target of mounted) run("umount", ["--lazy", target]); // D3
    },
  };
}

/** D1 */
function formatDisk(image: string): void {
  run("truncate", ["-s", `${DISK_MB}M`, image]);
  const layout = "packed_meta_blocks=1,lazy_itable_init=0,nodiscard";
  run("mkfs.ext4", ["-q", "-b", "4096", "-N", "1024", "-J", "size=4", "-E", layout, image]);
  const metadata = readFileSync(image).subarray(0, METADATA_MB * 1_024 * 1_024);
  const file = openSync(image, "r+");
  writeSync(file, metadata, 0, metadata.length, 0); // mkfs left holes where it has only zeros.
  closeSync(file);
}

function fillUp(path: string): void {
  const file = openSync(path, "w");
  try {
    for (;;) writeSync(file, Buffer.alloc(CHUNK_BYTES, 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: "pipe" });
}
