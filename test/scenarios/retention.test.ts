import { expect, test } from "vitest";
import { days } from "../../src/core/units.ts";
import type { HistoryEvent } from "../../src/sim/history.ts";
import { item, play } from "../support/scenario.ts";

/** Shorter than the faults last, and longer than any probe takes. */
const RETENTION_MS = 170_000;

/** A poison record halts its group until its message expires; e2 waits behind it. */
const ITEMS = [item("e1", 1_000, { plan: { poison: true } }), item("e2", 30_000)];
const HALTING = { fifo: true, onPoison: "halt", consumers: 1, retentionMs: RETENTION_MS } as const;

function committedIn(events: readonly HistoryEvent[]) {
  return events.flatMap((event) => (event.kind === "committed" ? event : []));
}

test("a message that expires frees its group, although slow commits erase it later", async () => {
  const { violations, events } = await play({
    topology: { ...HALTING, commitMsMax: 500 },
    items: ITEMS,
  });
  expect(violations).toEqual([]);
  const [passing] = committedIn(events);
  const erased = events.find(({ kind }) => kind === "expired");
  expect(passing?.name).toBe("e2");
  expect(erased).toMatchObject({ names: ["e1"] });
  expect(erased?.at).toBeGreaterThan(passing?.at ?? Number.POSITIVE_INFINITY);
});

test("a message is retained for its period by a broker whose clock is days ahead", async () => {
  const { violations, events } = await play({
    topology: HALTING,
    items: ITEMS,
    script(world) {
      world.at(0, () => {
        world.services.brokerClock.aheadMs = days(4);
      });
    },
  });
  expect(violations).toEqual([]);
  const sent = events.find((event) => event.kind === "sent" && event.name === "e1");
  const endedAt = (sent?.at ?? 0) + RETENTION_MS;
  expect(events.filter(({ kind }) => kind === "expired")).toMatchObject([
    { names: ["e1"], endedAt },
  ]);
  expect(committedIn(events)[0]?.name).toBe("e2");
});
