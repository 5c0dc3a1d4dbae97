import { expect, test } from "vitest";
import { durationMs } from "../../core/units.ts";
import { afterPromiseJobs as drain } from "../../platform/system-turn.ts";
import { Scheduler } from "../scheduler.ts";
import { TraceHash } from "../trace-hash.ts";
import { SimProcess } from "./process.ts";

function create() {
  const scheduler = new Scheduler({ startAt: 0, trace: new TraceHash(), drain });
  const process = new SimProcess("one", scheduler, () => {});
  const received: string[] = [];
  const sleep = (ms: number, what: string) =>
    void process.clock
      .sleep(durationMs(ms))
      .then(() => received.push(`${what} at ${scheduler.now}`));
  return { scheduler, process, received, sleep };
}

test("a killed process receives nothing any more (P1)", async () => {
  const { scheduler, process, received, sleep } = create();
  sleep(10, "early");
  sleep(20, "late");
  scheduler.at(15, 0, () => process.kill());
  await scheduler.run(100);
  expect(received).toEqual(["early at 10"]);
});

test("a frozen process receives everything later, in order (P2)", async () => {
  const { scheduler, process, received, sleep } = create();
  sleep(10, "first");
  sleep(20, "second");
  sleep(60, "third");
  scheduler.at(5, 0, () => process.freeze());
  scheduler.at(50, 0, () => process.thaw());
  await scheduler.run(100);
  expect(received).toEqual(["first at 50", "second at 50", "third at 60"]);
});

test("a skewed wall clock does not affect the monotonic clock (P3)", async () => {
  const { scheduler, process } = create();
  process.skewMs = -500;
  await scheduler.run(100);
  expect([process.clock.now(), process.clock.monotonic()]).toEqual([-400, 100]);
});
