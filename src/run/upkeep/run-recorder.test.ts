import { expect, test } from "vitest";
import { FAR_AHEAD, ManualClock } from "../../../test/support/manual-clock.ts";
import { seconds } from "../../core/units.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { HEARTBEAT_MS, startRunRecorder } from "./run-recorder.ts";

const SCOPE = { pipeline: "shop", generation: 0 };
const RUN = {
  id: "run-1",
  kind: "live",
  codeDigest: "c0de",
  configDigest: "c0f1",
  environment: "{}",
  parameters: "{}",
} as const;

test("a run has a row from its start, heartbeats with counts, and an end (R1, R2)", async () => {
  const clock = new ManualClock(FAR_AHEAD, { virtual: true });
  const ledger = createMemoryLedger({ clock });
  let committed = 0;
  const recorder = await startRunRecorder({ clock, ledger }, SCOPE, RUN, () => ({ committed }));
  const row = () => ledger.findRun(SCOPE, "run-1");
  const startedAt = FAR_AHEAD;
  expect(await row()).toEqual({
    ...RUN,
    startedAt,
    seenAt: startedAt,
    endedAt: null,
    counts: '{"committed":0}',
  });
  committed = 7;
  clock.advance(HEARTBEAT_MS);
  await expect.poll(row).toMatchObject({
    seenAt: startedAt + HEARTBEAT_MS,
    endedAt: null, // What a crash leaves behind.
    counts: '{"committed":7}',
  });
  clock.advance(seconds(5));
  await recorder.close();
  const endedAt = startedAt + HEARTBEAT_MS + 5_000;
  expect(await row()).toMatchObject({ seenAt: endedAt, endedAt });
});

test("a ledger that fails stops neither the heartbeat nor the end (R3)", async () => {
  const clock = new ManualClock(FAR_AHEAD, { virtual: true });
  const inner = createMemoryLedger({ clock });
  let fails = false;
  let puts = 0;
  const ledger = {
    ...inner,
    async putRun(...call: Parameters<typeof inner.putRun>) {
      puts += 1;
      if (fails) throw new Error("down");
      await inner.putRun(...call);
    },
  };
  const recorder = await startRunRecorder({ clock, ledger }, SCOPE, RUN, () => ({}));
  fails = true;
  clock.advance(HEARTBEAT_MS);
  await expect.poll(() => puts).toBe(2);
  await recorder.close();
  expect(puts).toBe(3);
});
