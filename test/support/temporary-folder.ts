// Temporary folder: a place for what one file of tests writes, gone behind its last test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** `name` tells whose it was, should a test be killed and leave it behind. */
export function useTemporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tidegate-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
