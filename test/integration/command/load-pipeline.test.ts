// Pipeline files as users write them, loaded by Node itself: the test runner would compile them.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const WORKER = join(import.meta.dirname, "load-pipeline-worker.ts");
const folder = useTemporaryFolder("load");

const PIPELINE = `import { pipeline, PermanentError } from "tidegate";`;
const spec = (name: string, handler = "() => 1") =>
  `pipeline({ name: "${name}", source: { queue: "q" }, handler: ${handler} })`;

/** File, its text (null: it does not exist), and the expected outcome of loading it. */
const CASES: readonly (readonly [string, string | null, object])[] = [
  [
    "good.ts",
    `${PIPELINE}\nconst n: number = 1;\nexport default ${spec("good", "() => n")};`,
    { name: "good", handled: "1" },
  ],
  ["plain.mjs", `${PIPELINE}\nexport default ${spec("plain")};`, { name: "plain" }],
  [
    "deep.ts",
    `${PIPELINE}\nimport { startCloud } from "tidegate/cloud";\n` +
      `export default ${spec("deep", "() => typeof startCloud")};`,
    { name: "deep", handled: "function" },
  ],
  ["none.ts", null, { message: "the file none.ts does not exist" }],
  [
    "broken.ts",
    `${PIPELINE}\nexport default pipeline({\n  name: (;\n});`,
    { message: "broken.ts:3:10 does not compile: Expression expected" },
  ],
  [
    "broken.mjs",
    `${PIPELINE}\nexport default pipeline({\n  name: (;\n});`,
    { message: "broken.mjs:3:10 does not compile: Unexpected token ';'" },
  ],
  [
    "imports-broken.mjs",
    `${PIPELINE}\nimport "./bad-part.mjs";\nexport default ${spec("x")};`,
    { message: "bad-part.mjs:2:7 does not compile: Unexpected token '='" },
  ],
  [
    "enum.ts",
    `${PIPELINE}\nenum Colour { Red }\nexport default ${spec("x")};`,
    { message: expect.stringMatching(/^enum\.ts:2:1 does not compile: .* enums, namespaces/) },
  ],
  [
    "wrong-name.ts",
    `import { pipelin } from "tidegate";\nexport default pipelin({});`,
    { message: expect.stringMatching(/^wrong-name\.ts:1:10 does not compile: .*'pipelin'$/) },
  ],
  [
    "no-package.ts",
    `${PIPELINE}\nimport { z } from "zodd";\nexport default ${spec("x")};`,
    {
      message:
        'no-package.ts:2:19 imports the package "zodd", which is not installed; ' +
        "run `npm install zodd`",
    },
  ],
  [
    "no-module.ts",
    `${PIPELINE}\nimport { z } from "./schema.ts";\nexport default ${spec("x")};`,
    { message: "no-module.ts:2:19 imports schema.ts, which does not exist" },
  ],
  [
    "throws.ts",
    `${PIPELINE}\nfunction boom(): never {\n  throw new PermanentError("no luck");\n}\nboom();`,
    {
      message: "throws.ts:3:9: the file throws while it is loaded: PermanentError: no luck",
    },
  ],
  [
    "throws-text.mjs",
    `throw "just a text";`,
    { message: 'throws-text.mjs: the file throws while it is loaded: "just a text"' },
  ],
  [
    "many-problems.mjs",
    `${PIPELINE}\nexport default pipeline({ name: "", source: {}, retry: { attempts: 0 } });`,
    {
      message:
        'many-problems.mjs:2:16: the pipeline "" cannot run:' +
        "\n  - name must be 1 to 128 letters, digits, dots, hyphens or underscores" +
        "\n  - handler must be a function" +
        "\n  - source must name a bucket or a queue" +
        "\n  - retry.attempts must be 1 to 100",
    },
  ],
  [
    "no-default.ts",
    `export const answer = 42;`,
    {
      message: expect.stringMatching(/^no-default\.ts has no default export and exports only ans/),
    },
  ],
  ["empty.ts", "export {};", { message: expect.stringContaining("and exports nothing; write") }],
  [
    "named.ts",
    `${PIPELINE}\nexport const mine = ${spec("x")};`,
    { message: expect.stringContaining('is the export "mine": write `export default mine`') },
  ],
  [
    "bare.ts",
    `export default { name: "x", source: { queue: "q" }, handler() {} };`,
    { message: expect.stringContaining("is a bare description, not a pipeline; write `export d") },
  ],
  ["number.mjs", "export default 42;", { message: expect.stringContaining("is the number 42,") }],
  [
    "later.ts",
    `${PIPELINE}\nexport default Promise.resolve(${spec("x")});`,
    { message: expect.stringContaining("is a promise (`await` it)") },
  ],
  [
    "other-version.mjs",
    `export default { kind: "tidegate-pipeline", name: "x", handler() {}, retry: {} };`,
    { message: expect.stringMatching(/created by another version .*no attempts, .*no source/) },
  ],
  ["notes.txt", "hello", { message: expect.stringContaining("must end with .ts, .mts, .js") }],
  [
    "a-folder",
    null,
    {
      message: `a-folder is a folder; name a file in it, such as ${join("a-folder", "pipeline.ts")}`,
    },
  ],
];

let outcomes: Record<string, unknown>[] = [];

beforeAll(() => {
  mkdirSync(join(folder, "a-folder"));
  writeFileSync(join(folder, "bad-part.mjs"), "// A part.\nconst = 1;\n");
  for (const [file, text] of CASES) {
    if (text !== null) writeFileSync(join(folder, file), text);
  }
  const args = [WORKER, ...CASES.map(([file]) => file)];
  const printed = execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  outcomes = JSON.parse(printed);
});

test.each(CASES.map(([file, , expected], at) => [file, at, expected] as const))(
  "%s is loaded, or rejected in one paragraph with a position and no stack",
  (_file, at, expected) => {
    expect(outcomes[at]).toMatchObject(expected);
    if (!("message" in expected)) return;
    expect(outcomes[at]).toMatchObject({ code: "TG_PIPELINE_INVALID" });
    expect(outcomes[at]?.message).not.toMatch(/\n {4}at /);
  },
);
