import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { configDigest, digestOfFile, digestOfFunctions } from "./digests.ts";

const folder = useTemporaryFolder("digests");

function write(name: string, more: { readonly helper?: string; readonly other?: string } = {}) {
  const home = join(folder, name);
  mkdirSync(join(home, "lib"), { recursive: true });
  writeFileSync(
    join(home, "pipeline.ts"),
    'import { a } from "./lib/a.ts";\nimport fs from "node:fs";\nexport default a;\n',
  );
  writeFileSync(join(home, "lib/a.ts"), more.helper ?? 'export * from "../b.ts";\n');
  writeFileSync(join(home, "b.ts"), 'import "./pipeline.ts";\nexport const a = 1;\n');
  writeFileSync(join(home, "other.ts"), more.other ?? "");
  return digestOfFile(join(home, "pipeline.ts"));
}

test("the code digest covers a file and its local imports, wherever the folder is (D1)", () => {
  const digest = write("one");
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(write("two")).toBe(digest);
  expect(write("three", { other: "changed" })).toBe(digest);
  expect(write("four", { helper: "export const a = 2;\n" })).not.toBe(digest);
});

test("a missing import does not keep a pipeline from having a digest (D3)", () => {
  expect(write("five", { helper: 'import "./missing.ts";\n' })).toMatch(/^[0-9a-f]{64}$/);
});

test("a pipeline without a file is hashed by its functions (D2)", () => {
  const one = digestOfFunctions({ name: "a", handler: () => 1, sink: { apply: () => 2 } });
  expect(digestOfFunctions({ sink: { apply: () => 2 }, handler: () => 1 })).toBe(one);
  expect(digestOfFunctions({ handler: () => 3, sink: { apply: () => 2 } })).not.toBe(one);
});

test("the config digest depends on settings, and not on secrets or functions (D4, D5)", () => {
  const settings = { drainMs: 5, ledger: "postgres://app:one@db/tidegate?password=x&ssl=1" };
  const digest = configDigest({ retry: { attempts: 3 }, handler: () => 1 }, settings);
  const rotated = { ledger: "postgres://app:two@db/tidegate?password=y&ssl=1", drainMs: 5 };
  expect(configDigest({ retry: { attempts: 3 } }, rotated)).toBe(digest);
  expect(configDigest({ retry: { attempts: 4 } }, settings)).not.toBe(digest);
  expect(configDigest({ retry: { attempts: 3 } }, { ...settings, drainMs: 6 })).not.toBe(digest);
});
