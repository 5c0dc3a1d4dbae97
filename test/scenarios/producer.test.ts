import { expect, test } from "vitest";
import type { HistoryEvent } from "../../src/sim/history.ts";
import { item, play } from "../support/scenario.ts";

const FIFO = { fifo: true, groups: 1, producers: 2 } as const;

/** The records in the order in which the queue first accepted them. */
function sent(events: readonly HistoryEvent[]): string[] {
  const names = events.flatMap((event) => (event.kind === "sent" ? [event.name] : []));
  return [...new Set(names)].filter((name) => name.startsWith("e"));
}

test("a row whose registration response was lost is sent before the next of its group", async () => {
  const { violations, events } = await play({
    topology: FIFO,
    items: [item("e1", 100, { group: "g2" }), item("e2", 1_000), item("e3", 1_500)],
    faults: { "producer-1/outbox.register#2": "answer-lost" },
  });
  expect(violations).toEqual([]);
  expect(sent(events)).toEqual(["e1", "e2", "e3"]);
});

test("a row that waits behind another producer's is not overtaken by a newer row", async () => {
  const { violations, events } = await play({
    topology: FIFO,
    items: [item("e1", 1_000, { producer: 2 }), item("e2", 1_100), item("e3", 1_200)],
    faults: { "producer-1/outbox.register#1": "answer-lost" },
    script(world) {
      const hung = world.hosts.producers[1];
      world.at(1_001, () => hung?.process?.freeze());
      world.at(20_000, () => hung?.process?.thaw());
    },
  });
  expect(violations).toEqual([]);
  expect(sent(events)).toEqual(["e1", "e2", "e3"]);
});

test("a restarted producer sends the rows of its previous run before newer ones", async () => {
  const { violations, events } = await play({
    topology: FIFO,
    items: [item("e1", 1_000, { producer: 2 }), item("e2", 1_100), item("e3", 1_101)],
    faults: { "producer-1/outbox.register#1": "crash-after" },
    script(world) {
      const hung = world.hosts.producers[1];
      world.at(1_001, () => hung?.process?.freeze());
      world.at(60_000, () => hung?.process?.thaw());
    },
  });
  expect(violations).toEqual([]);
  expect(sent(events)).toEqual(["e1", "e2", "e3"]);
});
