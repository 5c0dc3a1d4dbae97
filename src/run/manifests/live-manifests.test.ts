import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { anyInput } from "../../../test/support/stores/any-input.ts";
import { type DurationMs, days, epochMs, hours, minutes } from "../../core/units.ts";
import { digestOfManifest, type RunManifest } from "../../lineage/run-manifest.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { RecordInput, RecordKey } from "../../ports/record.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { DEAD_MS, type ManifestsPorts, ROUND_MS, startLiveManifests } from "./live-manifests.ts";
import { checkManifestTarget, type ManifestTarget } from "./manifest-target.ts";

const SCOPE = { pipeline: "shop", generation: 0 };
/** 22:00 on the first of March 2096, UTC. */
const START = epochMs(Date.UTC(2096, 2, 1, 22));
const [FIRST, SECOND] = ["2096-03-01", "2096-03-02"];
const SCHEMA = new URL("../../../docs/reference/schemas/run-manifest.schema.json", import.meta.url);
const LOCATION = () => ({ kind: "table", accessUrl: "sqlite:x", columns: [] }) as const;

function memoryTarget() {
  const files = new Map<string, string>();
  const state = { failing: false, puts: 0 };
  const target: ManifestTarget = {
    has: async (path) => files.has(path),
    async put(path, pieces) {
      state.puts += 1;
      if (state.failing) throw new Error("the disk is full");
      let text = "";
      for await (const piece of pieces) text += piece;
      if (!files.has(path)) files.set(path, text);
    },
    close: () => undefined,
  };
  return { files, state, target };
}

function createWorld() {
  const clock = new ManualClock(START, { virtual: true });
  const ledger = createMemoryLedger({ clock });
  const { files, state, target } = memoryTarget();
  const logs: string[] = [];
  const counts: string[] = [];
  const telemetry = {
    count: (name: string) => void counts.push(name),
    log: (_level: string, message: string) => void logs.push(message),
  };
  const ports = (isAlive: ManifestsPorts["isAlive"] = () => null): ManifestsPorts => ({
    clock,
    ledger,
    telemetry,
    target,
    isAlive,
  });
  const settle = async () => {
    for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
  };
  return {
    clock,
    ledger,
    files,
    state,
    logs,
    counts,
    settle,
    async pass(span: DurationMs) {
      for (let passed = 0; passed < span; passed += ROUND_MS) {
        clock.advance(ROUND_MS);
        await settle();
      }
    },
    start: (runId: string, more: { partRecords?: number; isAlive?: () => boolean | null } = {}) => {
      const { isAlive, ...sizes } = more;
      return startLiveManifests(ports(isAlive), {
        scope: SCOPE,
        runId,
        locationOf: LOCATION,
        ...sizes,
      });
    },
    ...createRecords(clock, ledger),
    manifest(path: string): RunManifest {
      return JSON.parse(files.get(path) ?? "null") as RunManifest;
    },
  };
}

/** Writes runs and records of them. */
function createRecords(clock: ManualClock, ledger: Ledger) {
  return {
    async run(id: string, ended = false) {
      const values = { seed: "7", parameters: { vat: 1 }, models: { m: "v1" }, lookups: {} };
      const now = clock.now();
      await ledger.putRun(SCOPE, {
        id,
        kind: "live",
        startedAt: START,
        seenAt: now,
        endedAt: ended ? now : null,
        codeDigest: "c0de",
        configDigest: "c0f1",
        environment: JSON.stringify({ node: "v24", host: "h", pid: "1" }),
        parameters: JSON.stringify({ file: "p.ts", pipelineDigest: "d1", values }),
        counts: "{}",
      });
    },
    async commit(name: string, runId: string, more: Partial<RecordInput> = {}) {
      const at = clock.now();
      const effects = JSON.stringify({ effects: { "upsert orders": 2 } });
      await ledger.commitDirect(SCOPE, [
        {
          key: `k1:${name}` as RecordKey,
          owner: "w",
          receivedAt: at,
          startedAt: at,
          input: anyInput({ runId, eventTime: at, ...more }),
          digest: `digest of ${name}`,
          effects,
        },
      ]);
    },
    async deadLetter(name: string, runId: string) {
      const [key, at] = [`k1:${name}` as RecordKey, clock.now()];
      await ledger.fail(SCOPE, [
        {
          key,
          fence: null,
          owner: "w",
          receivedAt: at,
          input: anyInput({ runId, eventTime: at }),
          permanent: true,
          failure: { errorClass: "missing-object", fingerprint: "f", message: "is gone" },
          note: { kind: "dossier", name: key, at, count: 1, body: "{}" },
        },
      ]);
    },
  };
}

const path = (run: string, day: string, name = "run_manifest.json") => `${run}/${day}/${name}`;
const keysOf = ({ inputs }: RunManifest) => inputs.map(({ key }) => key.slice("k1:".length));

test("a run has a manifest per UTC day: of a day that is over, and of the last one at its end (V1)", async () => {
  const world = createWorld();
  await world.run("r1");
  const manifests = world.start("r1");
  await world.commit("b", "r1");
  await world.commit("a", "r1", { lane: { lane: "late", watermark: null } });
  await world.commit("other", "r2");
  await world.deadLetter("gone", "r1");
  await world.pass(minutes(110));
  expect(world.files.size).toBe(0);
  await world.pass(minutes(30));
  expect([...world.files.keys()]).toEqual([path("r1", FIRST)]);
  const first = world.manifest(path("r1", FIRST));
  expect(keysOf(first)).toEqual(["a", "b", "gone"]);
  expect(first).toMatchObject({
    run: { day: FIRST, part: 1, endedAt: null, file: "p.ts" },
    config: { digest: "c0f1", pipeline: "d1" },
    seeds: { pipeline: "7" },
    parameters: { vat: 1 },
    models: { m: "v1" },
    counts: { committed: 2, "dead-lettered": 1 },
    late: 1,
    missing: [{ uri: "test", reason: "is gone" }],
    outputs: [{ name: "orders", rows: 4 }],
  });
  await world.commit("c", "r1");
  await world.run("r1", true);
  await manifests.close();
  const second = world.manifest(path("r1", SECOND));
  expect(keysOf(second)).toEqual(["c"]);
  expect(second.run.endedAt).toBe("2096-03-02T00:20:00.000Z");
  const ajv = new Ajv2020({ allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
  for (const manifest of [first, second]) {
    expect(validate(manifest) ? [] : validate.errors).toEqual([]);
    expect(digestOfManifest(manifest)).toBe(manifest.digest);
  }
  expect(validate({ ...first, inputs: [{ ...first.inputs[0], outcome: "lost" }] })).toBe(false);
});

test("the next start writes the manifest of a run that was killed, and nothing twice (V1, V3)", async () => {
  const world = createWorld();
  await world.run("killed");
  await world.commit("a", "killed");
  await world.run("next");
  const manifests = world.start("next");
  await world.settle();
  expect(world.files.size).toBe(0); // It may be alive, on another machine.
  await world.run("next");
  await world.pass(DEAD_MS);
  await world.pass(minutes(10));
  expect([...world.files.keys()]).toEqual([path("killed", FIRST)]);
  expect(world.manifest(path("killed", FIRST)).run.endedAt).toBeNull();
  await world.pass(hours(1));
  expect(world.state.puts).toBe(1);
  await world.run("next", true);
  await manifests.close();
  const again = world.start("third", { isAlive: () => false });
  await world.settle();
  await again.close();
  expect(world.state.puts).toBe(world.files.size);

  const other = createWorld();
  await other.run("killed");
  await other.commit("a", "killed");
  const here = other.start("next", { isAlive: () => false }); // Its process is known to be dead.
  await other.settle();
  expect([...other.files.keys()]).toEqual([path("killed", FIRST)]);
  expect(other.files.get(path("killed", FIRST))).toBe(world.files.get(path("killed", FIRST)));
  await here.close();
});

test("a target that fails is counted and logged, and tried again (V2)", async () => {
  const world = createWorld();
  world.state.failing = true;
  await world.run("r1", true);
  const manifests = world.start("r2");
  await world.settle();
  expect(world.counts).toEqual(["tidegate_manifests_failed_total"]);
  expect(world.logs).toEqual(["a run manifest was not written: the disk is full"]);
  world.state.failing = false;
  await world.pass(minutes(10));
  expect([...world.files.keys()]).toEqual([path("r1", FIRST)]);
  await manifests.close();
});

test("a day with many records is split, and its first part is written last (V4)", async () => {
  const world = createWorld();
  const names = Array.from({ length: 1_600 }, (_, at) => `n${String(at).padStart(4, "0")}`);
  for (const name of names) await world.commit(name, "r1");
  await world.run("r1", true);
  const manifests = world.start("r2", { partRecords: 600 });
  await world.settle();
  await manifests.close();
  const parts = ["run_manifest.2.json", "run_manifest.json"].map((name) => path("r1", FIRST, name));
  expect([...world.files.keys()]).toEqual(parts);
  const [last, first] = parts.map((each) => keysOf(world.manifest(each)));
  expect([...(first ?? []), ...(last ?? [])].sort()).toEqual(names);
});

test("a pipeline that would ingest its own manifests is refused", () => {
  const source = { bucket: "orders", prefix: "in/" };
  const check = (target: string) => () => checkManifestTarget(target, { source } as never);
  for (const target of ["s3://orders", "s3://orders/in", "s3://orders/in/deep/"]) {
    expect(check(target)).toThrow("would be ingested; choose another prefix or bucket");
  }
  for (const target of ["s3://orders/out", "s3://other/in", "in"]) check(target)();
  expect(days(1)).toBeGreaterThan(DEAD_MS);
});
