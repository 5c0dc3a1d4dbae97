import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { pipeline } from "../ingest/spec/define-pipeline.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { readQueue } from "./read-queue.ts";

const PIPELINE = pipeline({ name: "p", source: { bucket: "b" }, handler: () => undefined });

async function settledBefore(counts: { visible: number; delayed: number; hidden: number }) {
  const clock = new ManualClock();
  const look = { kind: "counted", name: "q", counts: async () => counts } as const;
  const ledger = createMemoryLedger({ clock });
  const snapshot = await readQueue([look], PIPELINE, ledger, clock.now());
  return snapshot.settledBefore === null ? "unknown" : "now";
}

test("a counted queue holds nothing back only if no message is waiting or in flight", async () => {
  const none = { visible: 0, delayed: 0, hidden: 0 };
  expect(await settledBefore(none)).toBe("now");
  expect(await settledBefore({ ...none, visible: 1 })).toBe("unknown");
  expect(await settledBefore({ ...none, delayed: 1 })).toBe("unknown");
  expect(await settledBefore({ ...none, hidden: 1 })).toBe("unknown");
});
