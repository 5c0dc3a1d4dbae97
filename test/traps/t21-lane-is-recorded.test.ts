import fc from "fast-check";
import { expect, test } from "vitest";
import type { LaneDecision } from "../../src/core/lane.ts";
import { addMs, durationMs, epochMs, minutes } from "../../src/core/units.ts";
import { laneFor, observe, startWatermark } from "../../src/ingest/policy/watermark.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";

const NOON = epochMs(Date.UTC(2026, 0, 1, 12));
const LATENESS = minutes(10);

interface Event {
  readonly key: string;
  readonly ago: number;
}

type Decisions = ReadonlyMap<string, LaneDecision>;

/** Runs events in the given order; earlier recorded decisions are reused. */
function run(events: readonly Event[], written: Decisions = new Map()): Decisions {
  const decisions = new Map(written);
  let state = startWatermark(LATENESS);
  for (const { key, ago } of events) {
    const eventTime = addMs(NOON, durationMs(-ago));
    decisions.set(key, laneFor(decisions.get(key) ?? null, state.watermark, eventTime));
    state = observe(state, { partition: "a", eventTime, now: NOON });
  }
  return decisions;
}

const OLD_LAST = [
  { key: "new", ago: 0 },
  { key: "old", ago: minutes(30) },
];

test("T21: lanes depend on the order of arrival, which is why they are recorded", () => {
  expect(run(OLD_LAST).get("old")?.lane).toBe("late");
  expect(run(OLD_LAST.toReversed()).get("old")?.lane).toBe("live");
});

test("T21: a replay in any order, of any part, repeats every decision", () => {
  const anyEvents = fc.uniqueArray(fc.record({ key: fc.uuid(), ago: fc.nat(minutes(90)) }), {
    maxLength: 30,
    selector: ({ key }) => key,
  });
  const anyRun = anyEvents.chain((events) =>
    fc.tuple(fc.constant(events), fc.shuffledSubarray(events)),
  );
  fc.assert(
    fc.property(anyRun, ([events, replayed]) => {
      const live = run(events);
      expect(run(replayed, live)).toEqual(live);
    }),
  );
});

test("T21: a decision includes its watermark", () => {
  expect(run(OLD_LAST).get("new")).toEqual({ lane: "live", watermark: null });
  expect(run(OLD_LAST).get("old")).toEqual({
    lane: "late",
    watermark: addMs(NOON, durationMs(-LATENESS)),
  });
});

test("T21: the consumer records lane and watermark with the record", async () => {
  const lanes: string[] = [];
  const keys: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }, { lane }) => void lanes.push(`${envelope.dedupe_key} ${lane}`),
    ledger: ({ clock }) => {
      const ledger = createMemoryLedger({ clock });
      return {
        ...ledger,
        commit(scope, commits) {
          keys.push(...commits.map(({ key }) => key));
          return ledger.commit(scope, commits);
        },
      };
    },
  });
  await world.send("old");
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  const [held] = await world.queue.receive(request, new AbortController().signal);
  await world.queue.deleteBatch([held?.receipt ?? ""]);
  await world.pass(minutes(30));
  await world.send("new");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(1_000);
  const { watermark } = consumer.snapshot();
  await world.sendBody(held?.body ?? "");
  await world.pass(1_000);
  expect(lanes).toEqual(["new live", "old late"]);
  const scope = { pipeline: "test", generation: 0 };
  const view = await world.ledger.show(scope, asRecordKey(keys[1] ?? ""));
  expect(view?.input.lane).toEqual({ lane: "late", watermark });
});
