import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createVirtualClock } from "../../cloud/virtual-clock.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { days, epochMs, hours, minutes, seconds } from "../../core/units.ts";
import type { Outbox } from "../../ports/outbox.ts";
import { createMemoryOutbox } from "../../stores/memory/outbox.ts";
import { startOutboxPurger } from "./outbox-purger.ts";

const ENTRY = { groupId: null, dedupId: "d", payloadDigest: "p", body: "b", attributes: {} };

function world() {
  const clock = createVirtualClock({ startAt: epochMs(0), idle: () => nextTurn() });
  const purged: [string, number][] = [];
  const telemetry = {
    count: (name: string, by = 1) => void purged.push([name, by]),
    log: (_level: string, message: string) => {
      throw new Error(message);
    },
  };
  const outbox = createMemoryOutbox({ clock });
  const send = async (key: string) => {
    const lease = { owner: "w", leaseMs: seconds(30) };
    await outbox.register("q", [{ ...ENTRY, key }], lease);
    await outbox.markSent("q", [{ key, epoch: 0, messageId: "m" }]);
  };
  return {
    clock,
    purged,
    outbox,
    send,
    ports: { clock, random: createSeededRandom(1), telemetry },
  };
}

const METRIC = "tidegate_outbox_purged_total";

test("rows that the producer's retention has expired are deleted, others stay", async () => {
  const { clock, purged, outbox, send, ports } = world();
  await send("old");
  await clock.advance(days(44));
  await send("new");
  await clock.advance(days(1));
  const purger = startOutboxPurger({ ...ports, findOutbox: async () => outbox }, null);
  await clock.advance(minutes(2));
  expect(purged).toEqual([[METRIC, 1]]);
  expect(await outbox.find("q", "new")).toBeDefined();
  await purger.close();
});

test("a shorter retention deletes sent rows before they expire, never pending ones", async () => {
  const { clock, purged, outbox, send, ports } = world();
  await send("old");
  await outbox.register("q", [{ ...ENTRY, key: "pending" }], { owner: "w", leaseMs: seconds(30) });
  await clock.advance(days(8));
  await send("new");
  const purger = startOutboxPurger({ ...ports, findOutbox: async () => outbox }, days(7));
  await clock.advance(minutes(2));
  expect(purged).toEqual([[METRIC, 1]]);
  expect(await outbox.find("q", "old")).toBeUndefined();
  expect(await outbox.find("q", "pending")).toBeDefined();
  expect(await outbox.find("q", "new")).toBeDefined();
  await purger.close();
});

test("an outbox that a producer creates later is found, and closed with the purger", async () => {
  const { clock, purged, outbox, send, ports } = world();
  let existing: Outbox | null = null;
  const purger = startOutboxPurger({ ...ports, findOutbox: async () => existing }, days(1));
  await clock.advance(hours(3));
  await send("a");
  existing = outbox;
  await clock.advance(days(2));
  expect(purged).toEqual([[METRIC, 1]]);
  await purger.close();
  await expect(outbox.find("q", "a")).rejects.toThrow("closed");
});
