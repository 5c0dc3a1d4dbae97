import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { anyInput } from "../../../test/support/stores/any-input.ts";
import { type DurationMs, days, type EpochMs, epochMs, hours, minutes } from "../../core/units.ts";
import { afterPromiseJobs } from "../../platform/system-turn.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { RecordInput, RecordKey } from "../../ports/record.ts";
import { checkManifestTarget } from "../../run/open/manifest-target.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { digestOfManifest, type RunManifest } from "../run-manifest.ts";
import {
  CATCH_UP_MS,
  FAILURES_MAX,
  type ManifestsPorts,
  type ManifestTarget,
  ROUND_MS,
  type SealedText,
  startLiveManifests,
} from "./live-manifests.ts";

const SCOPE = { pipeline: "shop", generation: 0 };
/** 22:00 on the first of March 2096, UTC. */
const START = epochMs(Date.UTC(2096, 2, 1, 22));
const [FIRST, SECOND] = ["2096-03-01", "2096-03-02"];
const SCHEMA = new URL("../../../docs/reference/schemas/run-manifest.schema.json", import.meta.url);
const LOCATION = () => ({ kind: "table", accessUrl: "sqlite:x", columns: [] }) as const;

function memoryTarget() {
  const files = new Map<string, string>();
  const state = { failing: false, failsAt: (_path: string): boolean => false, puts: 0 };
  const write = async (path: string, { pieces }: SealedText, mayWrite: () => unknown) => {
    state.puts += 1;
    if (state.failing || state.failsAt(path)) throw new Error("the disk is full");
    let text = "";
    for await (const piece of pieces) text += piece;
    if (await mayWrite()) files.set(path, text);
  };
  const target: ManifestTarget = {
    async sealOf(path) {
      const text = files.get(path);
      return text === undefined ? null : (JSON.parse(text) as RunManifest).run.sealed;
    },
    put: (path, text) => write(path, text, () => !files.has(path)),
    replace: (path, text, _, mayReplace = async () => true) => write(path, text, mayReplace),
    close: () => undefined,
  };
  return { files, state, target };
}

function createWorld() {
  const clock = new ManualClock(START, { virtual: true });
  const dated: { at: EpochMs | null } = { at: null };
  const ledgerClock = {
    virtual: true,
    now: () => dated.at ?? clock.now(),
    monotonic: clock.monotonic,
    sleep: clock.sleep,
  };
  const ledger = createMemoryLedger({ clock: ledgerClock });
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
  const records = createRecords(clock, ledger);
  return {
    clock,
    dated,
    files,
    state,
    logs,
    counts,
    settle: afterPromiseJobs, // Ledger and target are in memory, so a round is promise jobs alone.
    /** Time passes, with heartbeats of these runs. */
    async pass(span: DurationMs, ...beating: string[]) {
      for (let passed = 0; passed < span; passed += ROUND_MS) {
        clock.advance(ROUND_MS);
        for (const id of beating) await records.run(id);
        await afterPromiseJobs();
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
    ...records,
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
  await world.pass(minutes(130), "r1");
  expect(world.files.size).toBe(0); // The day is over, but a commit may be in flight.
  await world.pass(minutes(20), "r1");
  expect([...world.files.keys()]).toEqual([path("r1", FIRST)]);
  const first = world.manifest(path("r1", FIRST));
  expect(keysOf(first)).toEqual(["a", "b", "gone"]);
  expect(first).toMatchObject({
    run: { day: FIRST, part: 1, parts: 1, sealed: "day-over", revision: 1, endedAt: null },
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
  expect(second.run.endedAt).toBe("2096-03-02T00:30:00.000Z");
  const ajv = new Ajv2020({ allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
  for (const manifest of [first, second]) {
    expect(validate(manifest) ? [] : validate.errors).toEqual([]);
    expect(digestOfManifest(manifest)).toBe(manifest.digest);
  }
  expect(validate({ ...first, inputs: [{ ...first.inputs[0], outcome: "lost" }] })).toBe(false);
});

test("a later start writes the manifest of a run that was killed, and nothing twice (V1, V3)", async () => {
  const world = createWorld();
  await world.run("killed");
  await world.commit("a", "killed");
  const manifests = world.start("next");
  await world.pass(hours(2), "next");
  expect(world.files.size).toBe(0); // It may be alive, on another machine.
  await world.pass(hours(1), "next");
  expect(world.files.has(path("killed", FIRST))).toBe(true);
  const { run } = world.manifest(path("killed", FIRST));
  expect(run).toMatchObject({ endedAt: null, sealed: "presumed" });
  await world.run("next", true);
  await manifests.close();
  const again = world.start("third", { isAlive: () => false });
  await world.pass(hours(1), "third");
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

test("a run that was silent and continues is not sealed early, and a second revision has all of it (V5)", async () => {
  const world = createWorld();
  await world.run("frozen");
  await world.commit("before", "frozen");
  const manifests = world.start("next");
  await world.pass(hours(1), "next"); // Frozen for an hour, and alive again on the same day.
  await world.run("frozen");
  await world.commit("same day", "frozen");
  await world.pass(minutes(50), "next");
  expect(world.files.size).toBe(0);
  await world.pass(hours(2), "next"); // Frozen over midnight.
  expect(keysOf(world.manifest(path("frozen", FIRST)))).toEqual(["before", "same day"]);
  expect(world.manifest(path("frozen", FIRST)).run.sealed).toBe("presumed");

  // It continues with a commit that its clock had dated before midnight.
  const at = epochMs(START + hours(2) - 1);
  world.dated.at = at;
  await world.commit("in flight", "frozen", { eventTime: at });
  world.dated.at = null;
  await world.pass(minutes(40), "next", "frozen");
  const second = world.manifest(`frozen/${FIRST}/revision-2/run_manifest.json`);
  expect(second.run).toMatchObject({ sealed: "day-over", revision: 2 });
  expect(keysOf(second)).toEqual(["before", "same day", "in flight"]);
  expect(world.manifest(path("frozen", FIRST)).run.revision).toBe(1); // As it was.
  await world.pass(hours(2), "next", "frozen");
  await manifests.close();
  expect(world.state.puts).toBe(world.files.size);
});

test("all runs get manifests, a bounded number per round (V6)", async () => {
  const world = createWorld();
  const ids = Array.from({ length: 350 }, (_, at) => `r${String(at).padStart(4, "0")}`);
  for (const id of ids) await world.run(id, true);
  const manifests = world.start("next");
  await world.settle();
  expect(world.files.size).toBe(100);
  for (let round = 0; round < 5; round += 1) {
    world.clock.advance(CATCH_UP_MS);
    await world.settle();
  }
  expect([...world.files.keys()].sort()).toEqual(ids.map((id) => path(id, FIRST)));
  await manifests.close();
});

test("every dead letter of a day is in one of its parts, however many there are", async () => {
  const world = createWorld();
  const names = Array.from({ length: 250 }, (_, at) => `n${String(at).padStart(4, "0")}`);
  for (const name of names) await world.deadLetter(name, "r1");
  await world.commit("c", "r1");
  await world.run("r1", true);
  const manifests = world.start("r2", { partRecords: 100 });
  await world.settle();
  await manifests.close();
  const parts = [...world.files.keys()].map((name) => world.manifest(name));
  expect(parts.map(({ run }) => [run.part, run.parts])).toEqual([
    [3, 3],
    [2, 3],
    [1, 3],
  ]);
  expect(parts.flatMap(keysOf).sort()).toEqual(["c", ...names]);
  expect(parts.map(({ missing }) => missing.length)).toEqual([50, 100, 100]);
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

test("days that keep failing delay no other, and are tried again after them (V7)", async () => {
  const world = createWorld();
  // Whatever the order of runs is, more failing ones come first than a round tries.
  const failing = ["a1", "a2", "a3", "z1", "z2", "z3"];
  const others = ["m1", "m2", "m3", "m4"];
  for (const id of [...failing, ...others]) {
    await world.commit(id, id);
    await world.run(id, true);
  }
  world.state.failsAt = (each) => failing.some((id) => each.startsWith(id));
  await world.run("own");
  const manifests = world.start("own");
  await world.settle();
  expect(world.logs).toHaveLength(FAILURES_MAX);
  await world.pass(minutes(20), "own");
  expect([...world.files.keys()].sort()).toEqual(others.map((id) => path(id, FIRST)));
  const logged = world.logs.length;
  await world.pass(minutes(20), "own");
  expect(world.logs).toHaveLength(logged + 2 * FAILURES_MAX); // They are still tried.
  world.state.failsAt = () => false;
  await world.pass(minutes(20), "own");
  expect(world.files.size).toBe(failing.length + others.length);
  await manifests.close();
});

test("days of the own run that keep failing delay no other run, and are written later (V7)", async () => {
  const world = createWorld();
  await world.commit("o", "own");
  await world.run("own");
  world.state.failsAt = (each) => each.startsWith("own");
  const manifests = world.start("own");
  await world.pass(days(FAILURES_MAX + 2), "own"); // More days fail than a round tries.
  await world.commit("m", "m");
  await world.run("m", true);
  await world.pass(ROUND_MS, "own");
  const ofRun = (id: string) => [...world.files.keys()].filter((each) => each.startsWith(`${id}/`));
  expect(ofRun("m")).toContain(path("m", FIRST));
  expect(ofRun("own")).toEqual([]);
  world.state.failsAt = () => false;
  await world.pass(minutes(30), "own");
  expect(ofRun("own")).toContain(path("own", FIRST));
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

test("parts of a writer that died are replaced, so a day has all inputs of a run that continued (V4)", async () => {
  const world = createWorld();
  const names = Array.from({ length: 1_400 }, (_, at) => `n${String(at).padStart(4, "0")}`);
  for (const name of names.slice(0, 1_100)) await world.commit(name, "frozen");
  await world.run("frozen");
  world.state.failsAt = (each) => each === path("frozen", FIRST);
  const dying = world.start("next", { partRecords: 500 });
  await world.pass(hours(3), "next");
  await world.settle();
  const isOfFrozen = (each: string) => each.startsWith("frozen/");
  const written = [...world.files.keys()].filter(isOfFrozen);
  expect(written).toEqual([3, 2].map((nth) => path("frozen", FIRST, `run_manifest.${nth}.json`)));
  await dying.close();

  world.dated.at = epochMs(START + hours(2) - 1);
  for (const name of names.slice(1_100)) await world.commit(name, "frozen");
  world.dated.at = null;
  await world.run("frozen", true);
  world.state.failsAt = () => false;
  const later = world.start("later", { partRecords: 500 });
  await world.settle();
  await later.close();
  const parts = [...written, path("frozen", FIRST)].map((each) => world.manifest(each));
  expect(parts.map(({ run }) => [run.part, run.parts, run.sealed])).toEqual([
    [3, 3, "ended"],
    [2, 3, "ended"],
    [1, 3, "ended"],
  ]);
  expect(parts.flatMap(keysOf).sort()).toEqual(names);
});

test("a writer stops if the run continues meanwhile, and the day is written by the next one (V4)", async () => {
  const world = createWorld();
  const names = Array.from({ length: 1_100 }, (_, at) => `n${String(at).padStart(4, "0")}`);
  for (const name of names) await world.commit(name, "frozen");
  await world.run("frozen");
  // After the listing of the parts, before the first write.
  let continued: Promise<void> | null = null;
  world.state.failsAt = () => {
    continued ??= world.run("frozen");
    return false;
  };
  const manifests = world.start("next", { partRecords: 500 });
  await world.pass(minutes(140));
  await world.settle();
  expect([continued, world.files.size]).toEqual([expect.anything(), 0]);
  await world.pass(minutes(40));
  await world.settle();
  const first = world.manifest(path("frozen", FIRST));
  expect([first.run.parts, first.run.sealed]).toEqual([3, "day-over"]);
  await manifests.close();
});

test("a pipeline that would ingest its own manifests is refused", () => {
  const source = { bucket: "orders", prefix: "in/" };
  const check = (target: string) => () => checkManifestTarget(target, { source } as never);
  for (const target of ["s3://orders", "s3://orders/in", "s3://orders/in/deep/"]) {
    expect(check(target)).toThrow("would be ingested; choose another prefix or bucket");
  }
  for (const target of ["s3://orders/out", "s3://other/in", "in"]) check(target)();
});
