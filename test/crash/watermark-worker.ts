// Watermark worker: one process that shares a watermark through a ledger, controlled by lines.
//   node test/crash/watermark-worker.ts OWNER sqlite:PATH | postgres:URL CLOCK
// `observe PARTITION TIME`, `poll` and `pass MS` change it; `sync` stores. It prints the watermark
// once it has restored it and after every sync. Its clock starts at CLOCK and moves by `pass` only.

import { createInterface } from "node:readline";
import { durationMs, epochMs } from "../../src/core/units.ts";
import {
  createWatermarkTracker,
  type WatermarkOptions,
} from "../../src/ingest/running/watermark-tracker.ts";
import type { TimedRecord } from "../../src/ingest/stages/event-time.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { systemClock, turn } from "../support/stores/real-ports.ts";

export const WATERMARK_SCOPE = { pipeline: "shared", generation: 0 };

/** The ledger of this test, as worker and parent open it. */
export async function openSharedLedger(where: string) {
  const ports = { clock: systemClock, turn };
  if (where.startsWith("sqlite:")) {
    return createSqliteLedger(ports, { path: where.slice("sqlite:".length) });
  }
  return createPostgresLedger(ports, { url: where });
}

async function work(owner: string, where: string, startAt: number): Promise<void> {
  const ledger = await openSharedLedger(where);
  let now = startAt;
  const clock = { ...systemClock, now: () => epochMs(now) };
  const telemetry = { count() {}, gauge() {}, log() {} };
  const pipeline = {
    name: "shared",
    eventTime: { outOfOrderMs: durationMs(0), allowedLatenessMs: null },
    visibilityMs: durationMs(1_000),
  };
  const options = { owner, scope: WATERMARK_SCOPE, pipeline } as unknown as WatermarkOptions;
  const tracker = createWatermarkTracker({ clock, ledger, telemetry: telemetry as never }, options);
  const print = () => void process.stdout.write(`${tracker.value() ?? "none"}\n`);
  const observe = (partition: string, eventTime: number) => {
    const record = { partition, eventTime: epochMs(eventTime), content: { kind: "message" } };
    tracker.observe({ record, failure: null } as unknown as TimedRecord);
  };
  await tracker.restore();
  print();
  for await (const line of createInterface(process.stdin)) {
    const [command, first = "", second = ""] = line.split(" ");
    if (command === "observe") observe(first, Number(second));
    else if (command === "poll") tracker.polled("drained", "own");
    else if (command === "pass") now += Number(first);
    else {
      await tracker.sync();
      print();
    }
  }
  await ledger.close();
}

if (import.meta.main) {
  const [, , owner = "", where = "", startAt = ""] = process.argv;
  await work(owner, where, Number(startAt));
}
