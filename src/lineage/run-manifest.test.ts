import { expect, test } from "vitest";
import { sha256Hex } from "../core/encoding/hash.ts";
import {
  createManifestSums,
  digestOfManifest,
  type ManifestHead,
  type ManifestInput,
  type RunManifest,
  writeManifest,
} from "./run-manifest.ts";

const HEAD: ManifestHead = {
  run: {
    id: "0193d0d4-7d00-7000-8000-000000000001",
    kind: "live",
    pipeline: "soil",
    generation: 0,
    part: 1,
    parts: 1,
    sealed: "ended",
    revision: 1,
    day: null,
    startedAt: "2026-11-15T00:00:00Z",
    endedAt: null,
    window: null,
    revisionOf: null,
    file: null,
  },
  code: { digest: "c" },
  config: { digest: "d", pipeline: "p" },
  environment: { node: "v24" },
  request: {},
  parameters: {},
  seeds: {},
  models: {},
  lookups: {},
};

function input(key: string, eventTime: string, fields: Partial<ManifestInput> = {}): ManifestInput {
  return {
    key,
    kind: "object",
    uri: `s3://b/${key}`,
    versionId: null,
    etag: "e",
    size: 1,
    hash: `sha256:${sha256Hex(key)}`,
    noHash: null,
    sequencer: null,
    eventId: null,
    messageId: "m",
    eventTime,
    lane: "live",
    outcome: "committed",
    result: sha256Hex(key),
    wrote: { readings: 2 },
    ...fields,
  };
}

const A = input("a", "2026-11-15T00:00:01Z");
const B = input("b", "2026-11-15T00:00:02Z", { lane: "late", wrote: { readings: 1, alerts: 1 } });
const C = input("c", "2026-11-15T00:00:03Z", { outcome: "parked", result: null, wrote: {} });

async function manifestOf(inputs: readonly ManifestInput[]): Promise<RunManifest> {
  const sums = createManifestSums();
  async function* passing() {
    for (const each of inputs) {
      sums.add(each);
      yield each;
    }
  }
  const location = { kind: "table", accessUrl: "sqlite:x", columns: [] } as const;
  let text = "";
  for await (const piece of writeManifest(HEAD, passing(), () => ({
    outputs: sums.outputs(() => location),
    counts: sums.counts(),
    late: sums.late(),
    missing: [],
  }))) {
    text += piece;
  }
  return JSON.parse(text) as RunManifest;
}

test("a manifest is JSON with its inputs, and sums that follow from them", async () => {
  const manifest = await manifestOf([A, B, C]);
  expect(manifest.inputs).toEqual([A, B, C]);
  expect(manifest.counts).toEqual({ committed: 2, parked: 1 });
  expect(manifest.late).toBe(1);
  expect(manifest.outputs.map(({ name, rows }) => [name, rows])).toEqual([
    ["alerts", 1],
    ["readings", 3],
  ]);
  expect((await manifestOf([])).inputs).toEqual([]);
});

test("the digest of a manifest covers every field (R3)", async () => {
  const manifest = await manifestOf([A, B, C]);
  expect(digestOfManifest(manifest)).toBe(manifest.digest);
  const edits: Partial<RunManifest>[] = [
    { inputs: [A, B] },
    { inputs: [{ ...A, etag: "other" }, B, C] },
    { counts: {} },
    { late: 0 },
    { missing: [{ uri: "s3://b/x", reason: "gone" }] },
    { outputs: [] },
    { run: { ...manifest.run, kind: "replay" } },
    { code: { digest: "x" } },
    { config: { ...manifest.config, pipeline: "x" } },
    { environment: {} },
    { parameters: { a: 1 } },
    { seeds: { a: "1" } },
    { models: { m: "2" } },
    { lookups: { l: "2" } },
    { request: { from: 1 } },
  ];
  for (const edit of edits) {
    expect(digestOfManifest({ ...manifest, ...edit })).not.toBe(manifest.digest);
  }
});

test("an output's content hash changes with a result, a record or nothing else (R4)", async () => {
  const hashes = async (inputs: readonly ManifestInput[]) =>
    (await manifestOf(inputs)).outputs.find(({ name }) => name === "readings")?.contentHash;
  const same = await hashes([A, B]);
  expect(await hashes([{ ...A, messageId: "other", size: 9 }, B, C])).toBe(same);
  expect(await hashes([{ ...A, result: sha256Hex("other") }, B])).not.toBe(same);
  expect(await hashes([A])).not.toBe(same);
});

test("inputs that are not sorted are refused (R2)", async () => {
  await expect(manifestOf([B, A])).rejects.toThrow("sorted");
  await expect(manifestOf([A, A])).rejects.toThrow("sorted");
});
