import { expect, test } from "vitest";
import { item, lifeOf, play } from "../support/scenario.ts";

test("a record that a long poll brings is committed, whatever the visibility is divisible by", async () => {
  const { violations, events } = await play({
    topology: { visibilityMs: 10_000, lease: "ledger" },
    items: [item("e1", 5_000)],
  });
  expect(violations).toEqual([]);
  expect(lifeOf(events, "e1")).toContain("committed");
  const deliveries = events.filter(
    (event) => event.kind === "delivered" && event.names[0] === "e1",
  );
  expect(deliveries).toHaveLength(1);
});

test("a sink outside the ledger is told under a claim, even if the pipeline trusts receipts", async () => {
  const { violations, events } = await play({
    topology: { lease: "receipt", sink: "idempotent" },
    items: [item("e1", 1_000)],
  });
  expect(violations).toEqual([]);
  const life = lifeOf(events, "e1");
  expect(life.indexOf("claimed")).toBeGreaterThan(-1);
  expect(life.indexOf("effect")).toBeGreaterThan(life.indexOf("claimed"));
});

test("a dead letter that Amazon's own redrive brings back is tried again, not swallowed", async () => {
  const { violations, events } = await play({
    topology: { consumers: 1 },
    items: [item("e1", 1_000, { plan: { poison: true } })],
    script: (world) => world.at(30_000, () => world.hosts.operator.redriveNatively()),
  });
  expect(violations).toEqual([]);
  const life = lifeOf(events, "e1");
  expect(life.filter((kind) => kind === "dead-letter")).toHaveLength(2);
  expect(life).toContain("reopened");
});

test("a record given up on twice keeps its message though the second clock is behind", async () => {
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
  expect(lifeOf(events, "e1").filter((kind) => kind === "dead-letter")).toHaveLength(2);
});
