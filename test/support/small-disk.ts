// Small disk: a real file system of a few megabytes, for tests that fill it to the last byte.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

export interface SmallDisk {
  readonly path: string;
  grow(megabytes: number): void;
  unmount(): void;
}

/** Mounts a small disk at `path`; null where that is not allowed. */
export function mountSmallDisk(path: string, megabytes: number): SmallDisk | null {
  mkdirSync(path, { recursive: true });
  const mount = (options: string) =>
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "ignore" });
  try {
    mount(`size=${megabytes}m`);
  } catch {
    return null;
  }
  return {
    path,
    grow: (size) => void execFileSync("mount", ["-o", `remount,size=${size}m`, path]),
    // Lazily, so that a failed test reports its own error and not an open file.
    unmount: () => void execFileSync("umount", ["-l", path]),
  };
}

export const NO_SMALL_DISK = "mounting a small file system needs root and permission to mount";
