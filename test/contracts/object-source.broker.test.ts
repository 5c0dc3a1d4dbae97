import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeObjectSource } from "./object-source.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describeObjectSource({ name: "in process, in memory", open: (cloud) => cloud.objects });

describeObjectSource({
  name: "in process, on disk",
  open: (cloud) => cloud.objects,
  data() {
    const folder = mkdtempSync(join(tmpdir(), "tidegate-objects-"));
    folders.push(folder);
    return folder;
  },
});
