// Temporary folder: a folder for the files of one test file, removed after its last test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** `name` identifies a folder that a killed test leaves behind. */
export function useTemporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tidegate-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
