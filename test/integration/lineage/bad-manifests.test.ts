// Manifests that cannot be written or read: one test per row of the page on bad input.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { parseRunManifest } from "../../../src/operate/replays/reproduce.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-manifests");
const FAILED = /^tidegate_manifests_failed_total ([1-9]\d*)$/m;

/** Runs a pipeline with one file, and returns its log and its metrics. */
async function runWith(name: string, manifests: string) {
  const lines: string[] = [];
  const files = pipeline({ name, source: { bucket: "files", prefix: "in/" }, handler() {} });
  const settings = { data: join(folder, name), port: 0, manifests };
  const dev = await startDev(files, settings, { onLogLine: (line) => void lines.push(line) });
  const [first] = await dev.stop().then(() => [dev.runId]);
  const again = await startDev(files, settings, { onLogLine: (line) => void lines.push(line) });
  await again.put("in/a.txt", "a");
  await expect.poll(() => again.snapshot().committed).toBe(1);
  const read = async () => await (await fetch(`${again.metricsOrigin}/metrics`)).text();
  await expect.poll(read).toMatch(FAILED);
  await again.stop();
  return { log: lines.join("\n"), first };
}

test("a manifest that was edited: reproduce refuses it, and runs nothing", async () => {
  const head = { schema: "https://tidegate.dev/schemas/run-manifest-1.json", inputs: [] };
  const edited = JSON.stringify({ ...head, outputs: [], counts: {}, digest: "0".repeat(64) });
  const parse = (text: string) => () => parseRunManifest(text, "m.json");
  expect(parse(edited)).toThrow(
    "m.json was changed after it was written: its digest does not match",
  );
  expect(parse("{")).toThrow("m.json is not JSON");
  expect(parse("{}")).toThrow("m.json is not a run manifest of this version");
});

test("a manifest folder that cannot be written: the pipeline runs, each failure is counted and logged, and the next round tries again", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const { log } = await runWith("folder", join(file, "manifests"));
  expect(log).toMatch(/a run manifest was not written: .*(ENOTDIR|EEXIST)/);
});

test("a manifest bucket that does not exist or refuses: the same", async () => {
  const { log } = await runWith("bucket", "s3://no-such-bucket/manifests");
  expect(log).toMatch(
    /a run manifest was not written: .*s3:\/\/no-such-bucket\/manifests\/.*NoSuchBucket/,
  );
});

test("manifests below the source of the pipeline: the start is refused, because they would be ingested", async () => {
  const files = pipeline({ name: "own", source: { bucket: "files", prefix: "in/" }, handler() {} });
  const settings = { data: join(folder, "own"), port: 0, manifests: "s3://files/in/manifests" };
  await expect(startDev(files, settings, { onLogLine: () => {} })).rejects.toThrow(
    "manifests would be ingested; choose another prefix or bucket",
  );
});

test("the manifest of an unknown run: one sentence that says how to list runs, exit code 1", async () => {
  const data = join(folder, "folder");
  const words = ["runs", "manifest", "none", "--data", data];
  const { code, out, err } = await endOf(startCommand(words));
  expect([code, `${out}${err}`]).toEqual([
    1,
    "The ledger has no run none; list them with tidegate runs list.\n",
  ]);
});
