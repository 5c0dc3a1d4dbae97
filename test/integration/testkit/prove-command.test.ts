// `tidegate prove` as it is called: a real Node, real pipeline files, real exit codes.

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundled } from "../../support/bundle/bundled.ts";
import { isFullSize } from "../../support/full-size.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../../..");
const main = await bundled("src/cli/main.ts");
const folder = useTemporaryFolder("prove");
const SEEDS = isFullSize ? "10" : "2";

const prove = (...words: string[]) => command("prove", ...words);

function command(...words: string[]) {
  const args = [main, ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

function writePipeline(name: string, handler: string, source = '{ queue: "orders" }'): string {
  const file = join(folder, `${name}.ts`);
  const spec = `name: "${name}", source: ${source}, handler: ${handler}`;
  const imports = 'import { pipeline } from "tidegate";\nimport { connect } from "node:net";\n';
  writeFileSync(file, `${imports}void connect;\nexport default pipeline({ ${spec} });\n`);
  return file;
}

function writeFileIn(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  return file;
}

test("the stations survive, on the files of their generator", () => {
  const { status, stdout } = prove("examples/stations/pipeline.ts", "--seeds", SEEDS);
  expect(stdout).toMatch(/^stations survived all \d+ schedules \(6 records, \d+ points\)\.$/m);
  expect(status).toBe(0);
});

test("the unsafe example breaks in at most ten steps, and its fixed form passes", () => {
  const broken = prove("examples/unsafe/pipeline.ts");
  expect(broken.status).toBe(1);
  expect(broken.stdout).toMatch(/^unsafe-orders breaks with one fault: POST /);
  const steps = broken.stdout.split("\n").filter((line) => /^ {2}\d+\. /.test(line));
  expect(steps.length).toBeGreaterThan(2);
  expect(steps.length).toBeLessThanOrEqual(10);
  expect(prove("examples/unsafe/fixed.ts", "--seeds", SEEDS).status).toBe(0);
});

test("--json prints the same as one object", () => {
  const { status, stdout } = prove("examples/unsafe/pipeline.ts", "--json");
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    file: "examples/unsafe/pipeline.ts",
    samples: "examples/unsafe/samples.jsonl",
    verdict: "broken",
    failure: { record: "sample-1", faults: 1 },
  });
});

test("a pipeline that does not load is reported as by tidegate run", () => {
  expect(prove("none.ts")).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("the file none.ts does not exist"),
  });
});

test("invalid seeds and missing samples give one line and exit code 2", () => {
  const file = writePipeline("plain", "() => {}");
  const wrong = prove(file, "--seeds", "many");
  expect(wrong.stderr).toMatch(/^--seeds must be a whole number .*, not "many"\n$/);
  expect(wrong.status).toBe(2);
  const missing = prove(file, "--samples", join(folder, "nowhere"));
  expect(missing.stderr).toContain("--samples: ");
  expect(missing.status).toBe(2);
});

test("without samples, the error says what to do (S2)", () => {
  const file = writePipeline("bare", "() => {}");
  const { status, stderr } = prove(file);
  expect(stderr).toMatch(/^no samples for the handler; name a file of JSON lines/);
  expect(status).toBe(2);
  mkdirSync(join(folder, "empty"));
  const empty = prove(file, "--samples", join(folder, "empty"));
  expect(empty.stderr).toMatch(/^no samples in /);
});

test("a line that is not a payload is named", () => {
  const file = writePipeline("lines", "() => {}");
  const samples = writeFileIn("bad.jsonl", '{"a":1}\n[1]\n');
  const { status, stderr } = prove(file, "--samples", samples);
  expect(stderr).toBe(`${samples}:2 is not a JSON object; each line is a payload\n`);
  expect(status).toBe(2);
});

test("files of a folder are objects of the bucket, under its prefix", () => {
  const handler = "async (file, { emit }) => emit(file.object.key + await file.text())";
  const file = writePipeline("files", handler, '{ bucket: "b", prefix: "in/" }');
  writeFileIn("objects/deep/a.txt", "hello");
  writeFileIn("objects/b.txt", "world");
  const { status, stdout } = prove(file, "--samples", join(folder, "objects"), "--seeds", "5");
  expect(stdout).toMatch(/^files survived all \d+ schedules \(2 records, /);
  expect(status).toBe(0);
});

test("a handler that opens a socket is refused, with its place", () => {
  const file = writePipeline("sockets", "() => { connect(9, '127.0.0.1'); }");
  const samples = writeFileIn("one.jsonl", "{}\n");
  const { status, stdout } = prove(file, "--samples", samples);
  expect(stdout).toContain(`the handler opens a socket at ${file}:4`);
  expect(status).toBe(1);
});

test("a handler that tells the time in a row breaks, with its place", () => {
  const withSink = join(folder, "clocks.ts");
  writeFileSync(
    withSink,
    'import { pipeline, tables } from "tidegate";\nexport default pipeline({ name: "clocks",\n' +
      '  source: { queue: "q" },\n' +
      '  sink: tables({ t: { columns: { id: "text", at: "integer" }, key: ["id"] } }),\n' +
      "  handler: ({ envelope }, { upsert }) =>\n" +
      '    upsert("t", { id: envelope.dedupe_key, at: Date.now() }) });\n',
  );
  const samples = writeFileIn("one.jsonl", "{}\n");
  const { status, stdout } = prove(withSink, "--samples", samples);
  expect(stdout).toMatch(/^clocks breaks even without a fault: the effects differ /);
  expect(stdout).toContain(`Date.now() at ${withSink}:6`);
  expect(status).toBe(1);
});

test.each([
  ["comply", "while it is loaded", "process.exit(0);"],
  ["comply", "when it is called", "export default () => process.exit(0);"],
  ["prove", "while it is loaded", "process.exit(0);"],
])("%s does not pass a file that ends the process %s", (name, _, text) => {
  const file = writeFileIn("leaves.mjs", text);
  expect(command(name, file)).toEqual({
    status: 1,
    stdout: "",
    stderr: `${file} ended the process before the checks were done\n`,
  });
});
