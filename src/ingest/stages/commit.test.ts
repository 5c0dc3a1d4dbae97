import { expect, test } from "vitest";
import {
  createStageWorld,
  type Delivered,
  OWNER,
  type StageWorld,
  turns,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT, anyInput } from "../../../test/support/stores/any-input.ts";
import { TidegateError } from "../../core/errors.ts";
import { compareSequencers } from "../../core/events/sequencer.ts";
import { noHash } from "../../core/input-hash.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { Effect, IdempotentSink, Sink } from "../../ports/sink.ts";
import { createRecordArchive } from "../archive/archive-record.ts";
import { createQuarantine } from "../quarantine/store-quarantine.ts";
import { LeaseLost } from "../running/in-flight-delivery.ts";
import { createSinkLimit } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import { type CommitOutcome, type CommitStage, createCommitStage } from "./commit.ts";
import { createPrepareStage, type PrepareStage } from "./prepare.ts";

/** Both stages of a commit. */
interface Stages {
  readonly prepare: PrepareStage;
  readonly commit: CommitStage;
}

function commitStage(
  world: StageWorld,
  sink: Sink | null = null,
  archive: MessageArchive | null = null,
): Stages {
  const { scope, pipeline, clock, ledger, masked, turn, deadlines } = world;
  const named = { scope, owner: OWNER, pipeline, queue: "q" };
  const quarantine = createQuarantine({ clock, ledger, masked }, named);
  const inTime = createSinkLimit(deadlines, pipeline.timeoutMs);
  const ports = { clock, sink, inTime, quarantine, archive: createRecordArchive(archive, inTime) };
  return {
    prepare: createPrepareStage(ports, pipeline),
    commit: createCommitStage({ clock, ledger, turn }, { scope, owner: OWNER }),
  };
}

function onReceipt(world: StageWorld): Claim {
  const startedAt = world.clock.now();
  return { kind: "claimed", fence: null, attempt: 1, startedAt, input: ANY_INPUT };
}

async function inLedger(world: StageWorld, { record }: Delivered): Promise<Claim> {
  const lease = { owner: OWNER, leaseMs: durationMs(60_000) };
  const request = { key: record.key, input: ANY_INPUT, receivedAt: world.clock.now() };
  const [claimed] = await world.store.claim(world.scope, [request], lease);
  if (claimed?.kind !== "claimed") throw new Error(claimed?.kind);
  return { ...onReceipt(world), fence: claimed.fence };
}

/** Both calls, as the pipeline makes them. */
async function commit(
  stage: Stages,
  { record, inFlight }: Delivered,
  claim: Claim,
  effects: readonly Effect[] = [],
): Promise<CommitOutcome> {
  const work = {
    effects,
    staged: null,
    digest: null,
    badRows: [],
    secrets: ["secret"],
    masked: null,
    input: noHash("not-read"),
  };
  const prepared = await stage.prepare(record, claim, work, inFlight);
  return prepared.kind === "prepared" ? stage.commit(prepared, claim, inFlight) : prepared;
}

async function stateOf(world: StageWorld, { record }: Delivered): Promise<string | undefined> {
  return (await world.store.show(world.scope, record.key))?.record.kind;
}

const custom = (value: unknown): Effect => ({ kind: "custom", value });

test("a committed record is durable, and a second commit of it is a duplicate (M1)", async () => {
  await using world = createStageWorld();
  const stage = commitStage(world);
  const first = world.message("a");
  expect(await commit(stage, first, onReceipt(world))).toEqual({ kind: "committed" });
  expect(await stateOf(world, first)).toBe("committed");
  const copy = world.message("a");
  expect(await commit(stage, copy, onReceipt(world))).toMatchObject({ kind: "duplicate" });
});

test("a claim that another consumer has taken over is fenced (M1)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const old = await inLedger(world, delivered);
  world.clock.advance(61_000);
  await inLedger(world, world.message("a"));
  delivered.inFlight.drop();
  const stage = commitStage(world);
  const alive = { ...delivered.inFlight, alive: () => true };
  expect(await commit(stage, { ...delivered, inFlight: alive }, old)).toEqual({ kind: "fenced" });
  expect(await stateOf(world, delivered)).toBe("claimed");
});

test("nothing is written under a lease that was lost (R1 of prepare.ts)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  delivered.inFlight.abort(new LeaseLost("gone"));
  const outcome = await commit(commitStage(world), delivered, onReceipt(world));
  expect(outcome).toMatchObject({ kind: "lost" });
  expect(await stateOf(world, delivered)).toBeUndefined();
});

function failingLedger(times: number, code: "TG_LEDGER_UNAVAILABLE" | "TG_SINK_REFUSED") {
  let calls = 0;
  const wrap = (ledger: Ledger): Ledger => ({
    ...ledger,
    commitDirect(scope, commits) {
      calls += 1;
      if (calls > times) return ledger.commitDirect(scope, commits);
      return Promise.reject(new TidegateError(code, "no"));
    },
  });
  return { wrap, calls: () => calls };
}

test.each([
  [2, "committed"],
  [3, "failed"],
])(
  "with a ledger that is down for %i calls, the commit is tried three times and %s (M2)",
  async (down, kind) => {
    const { wrap, calls } = failingLedger(down, "TG_LEDGER_UNAVAILABLE");
    await using world = createStageWorld({ wrapLedger: wrap });
    const committing = commit(commitStage(world), world.message("a"), onReceipt(world));
    await world.pass(5_000);
    expect((await committing).kind).toBe(kind);
    expect(calls()).toBe(3);
  },
);

test("a rejection of one record's effects does not fail the others of its batch (M2)", async () => {
  await using world = createStageWorld({
    wrapLedger: (ledger) => ({
      ...ledger,
      commitDirect(scope, commits) {
        const refused = commits.some(({ effects }) => effects?.includes("upsert bad"));
        if (!refused) return ledger.commitDirect(scope, commits);
        return Promise.reject(new TidegateError("TG_SINK_REFUSED", "no such table"));
      },
    }),
  });
  const stage = commitStage(world);
  const row = (table: string): Effect => ({ kind: "upsert", table, row: {} });
  const outcomes = await Promise.all([
    commit(stage, world.message("a"), onReceipt(world), [row("good")]),
    commit(stage, world.message("b"), onReceipt(world), [row("bad")]),
    commit(stage, world.message("c"), onReceipt(world), [row("good")]),
  ]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["committed", "failed", "committed"]);
  expect(outcomes[1]).toMatchObject({ secrets: ["secret"] });
});

test("a direct commit stores where the record came from, with the outcome (M3)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  await commit(commitStage(world), delivered, onReceipt(world), [custom(1), custom(2)]);
  const view = await world.store.show(world.scope, delivered.record.key);
  expect(view?.input).toEqual(ANY_INPUT);
  const { effects = "{}" } = (view?.record ?? {}) as { effects?: string };
  expect(JSON.parse(effects)).toMatchObject({ effects: { custom: 2 } });
});

test("the commit of a listed state says which place it has among the events (R5 of prepare.ts)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const listed = { bucket: "b", key: "k", sequencer: null, state: "s", listed: true } as const;
  const record = { ...delivered.record, object: listed };
  const basis = "0A"; // What was applied before it.
  const claim: Claim = { ...(await inLedger(world, delivered)), confirm: basis };
  const stage = commitStage(world);
  const input = noHash("not-read");
  const none = { effects: [], staged: null, digest: null, badRows: [], secrets: [] };
  const work = { ...none, masked: null, input };
  const prepared = await stage.prepare(record, claim, work, delivered.inFlight);
  expect(prepared.kind).toBe("prepared");
  const summary = prepared.kind === "prepared" ? prepared.write.effects : null;
  const { sequencer } = JSON.parse(summary ?? "{}") as { sequencer: string };
  expect([compareSequencers(sequencer, basis), compareSequencers(sequencer, "0B")]).toEqual([
    1, -1,
  ]);
});

test("effects that JSON cannot express do not block the commit (R3 of prepare.ts)", async () => {
  await using world = createStageWorld();
  const effects = [custom(10n)];
  const outcome = await commit(commitStage(world), world.message("a"), onReceipt(world), effects);
  expect(outcome.kind).toBe("committed");
});

function sinkThat(apply: IdempotentSink["apply"]): IdempotentSink {
  const nothing = async () => undefined;
  return { mode: "idempotent", prepare: nothing, close: nothing, apply };
}

test("an idempotent sink applies the effects in prepare, under the fence, before the ledger", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const claim = await inLedger(world, delivered);
  const applied: unknown[] = [];
  const sink = sinkThat(async (effects, { fence }) => {
    applied.push({ effects, fence, state: await stateOf(world, delivered) });
  });
  const work = {
    effects: [custom(1)],
    staged: null,
    digest: null,
    badRows: [],
    secrets: [],
    masked: null,
    input: noHash("not-read"),
  };
  const { record, inFlight } = delivered;
  const prepared = await commitStage(world, sink).prepare(record, claim, work, inFlight);
  expect(prepared.kind).toBe("prepared");
  expect(applied).toEqual([{ effects: [custom(1)], fence: claim.fence, state: "claimed" }]);
  expect(await stateOf(world, delivered)).toBe("claimed");
});

test("a sink gets the event time that the ledger recorded first, as a direct commit stores it (R7 of prepare.ts)", async () => {
  await using world = createStageWorld();
  const times: number[] = [];
  const sink = sinkThat(async (_, { eventTime }) => void times.push(eventTime));
  const stage = commitStage(world, sink);
  const recorded = anyInput({ eventTime: epochMs(1_600_000_000_000) });
  const [sentAgain, direct] = [world.message("a"), world.message("b")];
  const claim = { ...(await inLedger(world, sentAgain)), input: recorded };
  expect(sentAgain.record.eventTime).not.toBe(recorded.eventTime);
  await commit(stage, sentAgain, claim, [custom(1)]);
  await commit(stage, direct, onReceipt(world), [custom(1)]);
  const stored = (await world.store.show(world.scope, direct.record.key))?.input;
  expect(times).toEqual([recorded.eventTime, stored?.eventTime]);
});

test("a sink that outlives timeoutMs counts as down, and nothing is committed (R2 of prepare.ts)", async () => {
  await using world = createStageWorld({ spec: { timeoutMs: 5_000 } });
  const delivered = world.message("a");
  const never = new Promise<void>(() => {});
  const stage = commitStage(
    world,
    sinkThat(() => never),
  );
  const committing = commit(stage, delivered, onReceipt(world), [custom(1)]);
  await turns();
  await world.pass(6_000);
  const outcome = await committing;
  expect(outcome).toMatchObject({ kind: "failed", error: { code: "TG_SINK_UNAVAILABLE" } });
  expect(await stateOf(world, delivered)).toBeUndefined();
});

test("nothing is committed under a lease that was lost while the sink ran (R1 of prepare.ts)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const sink = sinkThat(async () => world.renewer.release(delivered.inFlight.delivery.receipt));
  const outcome = await commit(commitStage(world, sink), delivered, onReceipt(world), [custom(1)]);
  expect(outcome).toMatchObject({ kind: "lost" });
  expect(await stateOf(world, delivered)).toBeUndefined();
});

test("a message whose effects the sink rejects is not archived, and a lease lost meanwhile counts", async () => {
  await using world = createStageWorld();
  const { renewer } = world;
  const archived: string[] = [];
  const archive = {
    async keep(key: string) {
      archived.push(key);
      renewer.release(delivered.inFlight.delivery.receipt);
      return "s3://bucket/m";
    },
  };
  const plan = (effects: readonly Effect[]) => {
    if (effects.length > 0) throw new TidegateError("TG_SINK_REFUSED", "text in an integer column");
    return [];
  };
  const nothing = async () => undefined;
  const sink = {
    mode: "transactional",
    dialect: "sqlite",
    prepare: nothing,
    close: nothing,
  } as const;
  const stage = commitStage(world, { ...sink, plan }, archive);
  const delivered = world.message("a");
  const rejected = await commit(stage, delivered, onReceipt(world), [custom(1)]);
  expect(rejected).toMatchObject({ kind: "failed", error: { code: "TG_SINK_REFUSED" } });
  expect(archived).toEqual([]);
  expect(await commit(stage, delivered, onReceipt(world))).toMatchObject({ kind: "lost" });
  expect(archived).toHaveLength(1);
  expect(await stateOf(world, delivered)).toBeUndefined();
});
