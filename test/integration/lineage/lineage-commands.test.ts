// tidegate runs and tidegate lineage, on what real processes recorded.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { digestOfManifest, type RunManifest } from "../../../src/lineage/run-manifest.ts";
import { endOf, untilHolds, useCommands } from "../../support/command-process.ts";

const PIPELINE = `
import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "files",
  source: { bucket: "files" },
  format: "csv",
  sink: tables({ line: { columns: { id: "text" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    for await (const row of file.rows()) upsert("line", { id: row.id });
  },
});
`;
const SCHEMA = new URL("../../../docs/reference/schemas/run-manifest.schema.json", import.meta.url);

const commands = useCommands("lineage");
const end = (...words: readonly string[]) => endOf(commands.start([...words, "--data", "d"]));

/** Runs `tidegate dev` until the files are committed, then stops it. */
async function ingest(files: Readonly<Record<string, string>>): Promise<void> {
  const words = ["dev", "pipeline.ts", "--json", "--port", "0", "--data", "d"];
  const run = commands.start(words);
  await untilHolds(run, () => run.printed.out.includes("\n"));
  const ready = JSON.parse(run.printed.out.split("\n")[0] ?? "") as Record<string, string>;
  for (const [key, body] of Object.entries(files)) {
    const url = `${ready.endpoint}/files/${key}`;
    expect((await fetch(url, { method: "PUT", body })).status).toBe(200);
  }
  const committed = /^tidegate_messages_committed_total\{[^}]*\} (\d+)$/m;
  await untilHolds(run, async () => {
    const text = await (await fetch(`${ready.metrics}/metrics`)).text();
    return Number(committed.exec(text)?.[1] ?? 0) >= Object.keys(files).length;
  });
  run.child.kill("SIGTERM");
  expect((await run.ended).code).toBe(0);
}

test("a run's manifest and documents name its inputs, outputs and digests", async () => {
  writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE);
  await ingest({ "b%20c.csv": "id\n1\n2\n", "a.csv": "id\n3\n" });

  const listed = await end("runs", "list", "--json");
  expect(listed.code).toBe(0);
  const run = JSON.parse(listed.out) as Record<string, string>;
  expect(run).toMatchObject({ pipeline: "files", generation: 0, kind: "live" });

  const shown = await end("runs", "manifest", run.id ?? "", "--pipeline", "pipeline.ts");
  const manifest = JSON.parse(shown.out) as RunManifest;
  const ajv = new Ajv2020({ allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
  expect(validate(manifest) ? [] : validate.errors).toEqual([]);
  expect(manifest.digest).toBe(digestOfManifest(manifest));
  expect(manifest.code.digest).toBe(run.codeDigest);
  expect(manifest.inputs.map(({ uri }) => uri).sort()).toEqual([
    "s3://files/a.csv",
    "s3://files/b%20c.csv",
  ]);
  const hashOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
  expect(manifest.inputs.map(({ hash }) => hash).sort()).toEqual(
    [hashOf("id\n1\n2\n"), hashOf("id\n3\n")].sort(),
  );
  expect(manifest.outputs).toMatchObject([
    { name: "line", rows: 3, columns: [{ name: "id", type: "text" }] },
  ]);

  const object = await end("lineage", "s3://files/b c.csv", "--as", "openlineage");
  const events = JSON.parse(object.out) as { eventType: string; inputs: { name: string }[] }[];
  expect(events.map(({ eventType }) => eventType)).toEqual(["START", "COMPLETE"]);
  expect(events[1]?.inputs.map(({ name }) => name)).toEqual(["b c.csv"]);

  const row = await end("lineage", "line:2", "--as", "openlineage");
  const [, complete] = JSON.parse(row.out) as { run: object; inputs: { name: string }[] }[];
  expect(complete?.inputs.map(({ name }) => name)).toEqual(["b c.csv"]);
  const { out: rows } = await end("lineage", "s3://files/b c.csv", "--rows");
  expect(rows).toBe('{"table":"line","key":["1"]}\n{"table":"line","key":["2"]}\n');
  expect(await end("lineage", "line:9")).toMatchObject({
    code: 1,
    err: "The table line has no visible row with the key 9.\n",
  });
  const table = await end("lineage", "line", "--as", "openlineage");
  const [, all] = JSON.parse(table.out) as { inputs: { name: string }[] }[];
  expect(all?.inputs.map(({ name }) => name).sort()).toEqual(["a.csv", "b c.csv"]);

  const out = join(commands.folder, "prov.json");
  expect(await end("lineage", run.id ?? "", "--out", "prov.json")).toMatchObject({ code: 0 });
  expect(readFileSync(out, "utf8")).toContain("urn:tidegate:dataset:files:line");
  expect(await end("lineage", run.id ?? "", "--out", "prov.json")).toMatchObject({
    code: 2,
    err: expect.stringContaining("prov.json exists; name another file with --out"),
  });
});

test("a run or an object that is not recorded is answered in one line", async () => {
  writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE);
  await ingest({ "a.csv": "id\n1\n" });
  expect(await end("runs", "manifest", "nope")).toMatchObject({
    code: 1,
    err: "The ledger has no run nope; list them with tidegate runs list.\n",
  });
  expect(await end("lineage", "s3://files/other.csv")).toMatchObject({
    code: 1,
    err: "The ledger has no committed record of s3://files/other.csv.\n",
  });
  const unknown = [
    [
      "other",
      "The ledger has no run other, and no run wrote to a table of that name; see runs list.",
    ],
    ["s3://files", "s3://files names no object; write s3://bucket/key."],
    ["other:1", "The ledger's database has no table other of a pipeline."],
  ] as const;
  for (const [what, sentence] of unknown) {
    expect(await end("lineage", what)).toMatchObject({ code: 1, err: `${sentence}\n` });
  }
});
