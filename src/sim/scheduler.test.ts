import fc from "fast-check";
import { expect, test } from "vitest";
import { afterPromiseJobs as drain } from "../platform/system-turn.ts";
import { Scheduler } from "./scheduler.ts";
import { TraceHash } from "./trace-hash.ts";

const create = () => new Scheduler({ startAt: 0, trace: new TraceHash(), drain });

test("events run by time, and those of one instant in the order they were scheduled (S1)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20)), async (times) => {
      const scheduler = create();
      const ran: [number, number][] = [];
      for (const [at, time] of times.entries()) {
        scheduler.at(time, 0, () => void ran.push([scheduler.now, at]));
      }
      await scheduler.run(100);
      const expected = times.map((time, at): [number, number] => [time, at]);
      expected.sort((one, two) => one[0] - two[0] || one[1] - two[1]);
      expect(ran).toEqual(expected);
    }),
  );
});

test("all promise jobs of an event have ended before the next event (S1)", async () => {
  const scheduler = create();
  const ran: string[] = [];
  scheduler.at(1, 0, async () => {
    for (let step = 0; step < 50; step += 1) await null;
    ran.push("jobs of the first");
  });
  scheduler.at(1, 0, () => void ran.push("second"));
  await scheduler.run(1);
  expect(ran).toEqual(["jobs of the first", "second"]);
});

test("a cancelled event does not run", async () => {
  const scheduler = create();
  let ran = 0;
  const event = scheduler.at(1, 0, () => {
    ran += 1;
  });
  event.work = null;
  await scheduler.run(10);
  expect([ran, scheduler.now]).toEqual([0, 10]);
});
