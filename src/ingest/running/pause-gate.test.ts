import { expect, test } from "vitest";
import { createConsumerWorld, type Handler } from "../../../test/support/consumer-world.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import { createBatchRunner } from "./batch-runner.ts";
import { INERT_WATERMARK } from "./inert-watermark.ts";
import { endPause, PAUSE_LOOK_MS, type Pause, setPause } from "./pause.ts";
import { createPauseGate } from "./pause-gate.ts";

const TIME = { workMs: durationMs(600_000), totalMs: durationMs(610_000) };
const lasting = new AbortController().signal;

/** A batch of three messages, whose handlers run one at a time until they are released. */
async function gatedWorld({ queue = "work" } = {}) {
  const begun: string[] = [];
  const releases: (() => void)[] = [];
  const handler: Handler = ({ envelope }) => {
    begun.push(envelope.dedupe_key);
    return new Promise<void>((resolve) => releases.push(resolve));
  };
  const pipeline = { concurrency: { total: 1 } };
  const world = await createConsumerWorld({ queue, handler, pipeline });
  const { clock } = world.cloud;
  const scope = { pipeline: world.pipeline.name, generation: 0 };
  for (const key of ["a", "b", "c"]) {
    await world.send(key, {}, queue.endsWith(".fifo") ? "g" : undefined);
  }
  const receive = { max: 10, waitMs: durationMs(0), visibilityMs: durationMs(900_000) };
  const deliveries = await world.queue.receive(receive, lasting);
  const none = { objects: null, rows: null, sink: null, telemetry: SILENT };
  const { ledger, deadLetters, queue: source } = world;
  const runner = createBatchRunner(
    { ...systemPorts, ...none, clock, ledger, deadLetters, queue: source },
    { pipeline: world.pipeline, owner: "me", runId: "run", watermark: INERT_WATERMARK },
  );
  const changes: (Pause | null)[] = [];
  const gate = createPauseGate(
    { clock, ledger: world.ledger },
    { scope, onChange: (pause) => changes.push(pause) },
  );
  const pause = () =>
    setPause(world.ledger, scope, { since: epochMs(clock.now()), by: "ops", reason: "" });
  const resume = () => endPause(world.ledger, scope);
  const release = () => releases.shift()?.();
  return { world, scope, deliveries, runner, gate, changes, begun, pause, resume, release };
}

test("while a pipeline is paused, no batch starts; it starts after the resume", async () => {
  const { world, deliveries, runner, gate, changes, begun, pause, resume } = await gatedWorld();
  await using _ = world;
  await pause();
  const running = gate.passes(lasting).then(() => gate.run(runner, deliveries, TIME));
  await world.pass(600_000);
  expect(begun).toEqual([]);
  expect(changes).toMatchObject([{ by: "ops" }]);
  await resume();
  await world.pass(PAUSE_LOOK_MS);
  expect(begun).toHaveLength(1);
  expect(changes).toMatchObject([{ by: "ops" }, null]);
  runner.close();
  await world.pass(TIME.totalMs);
  await running;
});

test.each(["work", "work.fifo"])(
  "in a batch of %s, a pause lets only what has begun finish",
  async (queue) => {
    const { world, deliveries, runner, gate, begun, pause, resume, release } = await gatedWorld({
      queue,
    });
    await using _ = world;
    expect(deliveries).toHaveLength(3);
    expect(await gate.passes(lasting)).toBe(true);
    const running = gate.run(runner, deliveries, TIME);
    await world.pass(1_000);
    await pause();
    await world.pass(PAUSE_LOOK_MS);
    release();
    await world.settle();
    const results = await running;
    expect(results.map(({ settlement }) => settlement.kind)).toEqual([
      "delete",
      "return",
      "return",
    ]);
    expect(begun).toHaveLength(1);
    expect(runner.counts()).toMatchObject({ committed: 1, retried: 0 });
    const waiting = gate.passes(lasting);
    await world.pass(60_000);
    await resume();
    await world.pass(PAUSE_LOOK_MS);
    expect(await waiting).toBe(true);
    const rest = gate.run(runner, deliveries.slice(1), TIME);
    for (let round = 0; round < 2; round += 1) {
      await world.pass(1_000);
      release();
    }
    await world.settle();
    expect((await rest).map(({ settlement }) => settlement.kind)).toEqual(["delete", "delete"]);
    expect(begun.toSorted()).toEqual(["a", "b", "c"]);
    runner.close();
  },
);

test("a wait ends with false when its signal aborts, or when what waits is over", async () => {
  const { world, scope, gate, pause } = await gatedWorld();
  await using _ = world;
  await pause();
  const stopping = new AbortController();
  const stopped = gate.passes(stopping.signal);
  let isOver = false;
  const ports = { clock: world.cloud.clock, ledger: world.ledger };
  const cancelled = createPauseGate(ports, { scope, isOver: async () => isOver }).passes(lasting);
  await world.pass(10_000);
  isOver = true;
  stopping.abort();
  await world.pass(PAUSE_LOOK_MS);
  expect(await Promise.all([stopped, cancelled])).toEqual([false, false]);
});

test("a ledger that does not answer neither lets a first batch start nor ends a pause", async () => {
  const { world, scope, pause, resume } = await gatedWorld();
  await using _ = world;
  let down = true;
  const ledger = {
    ...world.ledger,
    findNote: (...call: Parameters<typeof world.ledger.findNote>) =>
      down ? Promise.reject(new Error("down")) : world.ledger.findNote(...call),
  };
  const isOver = () => (down ? Promise.reject(new Error("down")) : Promise.resolve(false)); // G3
  const gate = createPauseGate({ clock: world.cloud.clock, ledger }, { scope, isOver });
  await expect(gate.passes(lasting)).rejects.toThrow("down");
  await pause();
  down = false;
  let passed = false;
  const waiting = gate.passes(lasting).then(() => {
    passed = true;
  });
  await world.pass(PAUSE_LOOK_MS);
  down = true;
  await resume();
  await world.pass(60_000);
  expect(passed).toBe(false);
  down = false;
  await world.pass(PAUSE_LOOK_MS);
  await waiting;
});
