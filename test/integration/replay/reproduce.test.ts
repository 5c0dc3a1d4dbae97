// The guide "reprocess a day", command by command, then the manifest of the run is reproduced.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  digestOfManifest,
  type ManifestInput,
  type RunManifest,
} from "../../../src/lineage/run-manifest.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { startReplayWorld } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("reproduce");
const guide = join(import.meta.dirname, "../../../docs/guides/reprocess-a-day.md");

const source = (factor: number) => `import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "orders",
  source: { bucket: "orders", prefix: "in/" },
  format: "csv",
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    for await (const { id, amount } of file.rows()) {
      upsert("orders", { id, amount: Number(amount) * ${factor} });
    }
  },
});
`;

/** A manifest whose first input had other bytes, and what `reproduce` prints about it. */
function alteredManifest(manifest: string, file: string) {
  writeFileSync(file, source(1));
  const parsed = JSON.parse(readFileSync(manifest, "utf8")) as RunManifest;
  const [first, ...rest] = parsed.inputs;
  expect(first?.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  const hash = `sha256:${"0".repeat(64)}`;
  const changed = { ...parsed, inputs: [{ ...(first as ManifestInput), hash }, ...rest] };
  const path = join(folder, "altered.json");
  writeFileSync(path, JSON.stringify({ ...changed, digest: digestOfManifest(changed) }));
  const expected = [
    "identical: 2 records have the same results; live tables were not read",
    "  changed input: 1 input has other bytes than the manifest says",
    `    first: ${first?.uri} was ${hash}, is ${first?.hash}`,
  ];
  return { path, expected };
}

test("the commands of the guide repair a day, and its manifest can be reproduced", async () => {
  await using world = await startReplayWorld(folder, "data");
  await world.put("in/a ü.csv", { a1: 1 });
  await world.put("in/b.csv", { b1: 2 });
  const file = join(folder, "pipeline.ts");
  writeFileSync(file, source(1));
  const to = new Date().toISOString();
  let run = "";
  const cli = async (...words: string[]) => {
    const more = words.includes("--from") ? ["--manifest-dir", join(folder, "manifests")] : [];
    const given = [...words, "--data", join(folder, "data"), ...more];
    const { code, out, err } = await endOf(startCommand(given, { cwd: folder }));
    return { code, err, lines: out.split("\n").filter((line) => line !== "") };
  };
  const blocks = [...readFileSync(guide, "utf8").matchAll(/```sh\n([\s\S]*?)```/g)];
  const commands = blocks.flatMap(([, block = ""]) => block.trim().split("\n"));
  expect(commands).toHaveLength(6);
  for (const line of commands) {
    if (line.startsWith("tidegate replay promote")) {
      const [ready] = (await cli("replay", "show", run)).lines;
      expect(ready).toContain("ready");
    }
    const words = line.split(" ").slice(1);
    const changed = words.map((word) =>
      word === "RUN"
        ? run
        : word === "2026-11-17"
          ? "2020-01-01"
          : word === "2026-11-18"
            ? to
            : word,
    );
    const ended = await cli(...changed);
    expect([line, ended.code, ended.err.includes("TG_")]).toEqual([line, 0, false]);
    run ||= /^[0-9a-f-]{36}/.exec(ended.lines[0] ?? "")?.[0] ?? "";
    if (line.includes("diff")) {
      expect(ended.lines[0]).toBe("orders: 0 added, 0 removed, 2 changed");
    }
  }
  expect(world.rows()).toEqual(["a1=1", "b1=2"]);

  const manifest = join(folder, "manifests", run, "run_manifest.json");
  const same = await cli("reproduce", manifest);
  const identical = ["identical: 2 records have the same results; live tables were not read"];
  expect([same.code, same.lines], same.err).toEqual([0, identical]);
  writeFileSync(file, source(3));
  const other = await cli("reproduce", manifest);
  expect(other.code).toBe(1);
  expect(other.lines.join("\n"), other.err).toMatch(
    /^different: 2 of 2 .*\n {2}first: s3:.*\n {2}other digest: code$/,
  );
  const altered = alteredManifest(manifest, file);
  const changed = await cli("reproduce", altered.path);
  expect([changed.code, changed.lines]).toEqual([1, altered.expected]);
  const edited = join(folder, "edited.json");
  writeFileSync(edited, readFileSync(manifest, "utf8").replace('"orders"', '"others"'));
  const refused = await cli("reproduce", edited);
  expect(refused.err).toContain("was changed after it was written: its digest does not match");
  expect((await cli("replay", "show", "none")).err).toContain('unknown run "none"');
});
