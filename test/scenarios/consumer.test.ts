import { expect, test } from "vitest";
import { eventKindsOf, item, play } from "../support/scenario.ts";

test("a record from a long poll is committed, even if the visibility is not divisible by six", async () => {
  const { violations, events } = await play({
    topology: { visibilityMs: 10_000, lease: "ledger" },
    items: [item("e1", 5_000)],
  });
  expect(violations).toEqual([]);
  expect(eventKindsOf(events, "e1")).toContain("committed");
  const deliveries = events.filter(
    (event) => event.kind === "delivered" && event.names[0] === "e1",
  );
  expect(deliveries).toHaveLength(1);
});

test('an idempotent sink gets effects only under a claim, even with lease: "receipt"', async () => {
  const { violations, events } = await play({
    topology: { lease: "receipt", sink: "idempotent" },
    items: [item("e1", 1_000)],
  });
  expect(violations).toEqual([]);
  const kinds = eventKindsOf(events, "e1");
  expect(kinds.indexOf("claimed")).toBeGreaterThan(-1);
  expect(kinds.indexOf("effect")).toBeGreaterThan(kinds.indexOf("claimed"));
});

test("a dead letter that SQS's own redrive moves back is retried, not dropped", async () => {
  const { violations, events } = await play({
    topology: { consumers: 1 },
    items: [item("e1", 1_000, { plan: { poison: true } })],
    script: (world) => world.at(30_000, () => world.hosts.operator.redriveNatively()),
  });
  expect(violations).toEqual([]);
  const kinds = eventKindsOf(events, "e1");
  expect(kinds.filter((kind) => kind === "dead-letter")).toHaveLength(2);
  expect(kinds).toContain("reopened");
});

test("a record parked twice keeps its message, even if the second consumer's clock is behind", async () => {
  const { violations, events } = await play({
    topology: { consumers: 1 },
    items: [item("e1", 1_000, { plan: { poison: true } })],
    faults: { "consumer-1/dead-letters.send#2": "crash-before" },
    script(world) {
      const [consumer] = world.hosts.consumers;
      world.at(500, () => consumer?.skew(600_000));
      world.at(30_000, () => consumer?.skew(0));
      world.at(31_000, () => world.hosts.operator.redrive());
    },
  });
  expect(violations).toEqual([]);
  expect(eventKindsOf(events, "e1").filter((kind) => kind === "dead-letter")).toHaveLength(2);
});
