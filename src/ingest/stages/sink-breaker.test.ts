import { expect, test } from "vitest";
import { createManualClock, FAR_AHEAD } from "../../../test/support/manual-clock.ts";
import { TidegateError } from "../../core/errors.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { seconds } from "../../core/units.ts";
import { FAILURES_TO_OPEN } from "../policy/breaker.ts";
import { classify } from "../policy/error-class.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import type { RecordOutcome } from "./outcome.ts";
import { createSinkBreaker } from "./sink-breaker.ts";

function breakerWorld() {
  const clock = createManualClock(FAR_AHEAD);
  const random = createSeededRandom(1);
  const logs: string[] = [];
  const telemetry = { ...SILENT, log: (_: string, message: string) => void logs.push(message) };
  return { clock, logs, breaker: createSinkBreaker({ clock, random, telemetry }, "q") };
}

function afterMany(outcome: RecordOutcome) {
  const { breaker } = breakerWorld();
  for (let times = 0; times < 2 * FAILURES_TO_OPEN; times += 1) breaker.onOutcome(outcome);
  return breaker.kind();
}

const LATER = { kind: "later", delayMs: seconds(5) } as const;

test("records that are busy, such as those locked by a frozen process, never open the breaker", () => {
  expect(afterMany({ ...LATER, why: "busy", blames: "record" })).toBe("closed");
});

test("records whose locks another process holds never open the breaker, and cost no attempt", () => {
  const error = new TidegateError("TG_LEDGER_BUSY", "the ledger's database is busy");
  const { blames, retry } = classify(error);
  expect([blames, retry]).toEqual(["holder", "backoff"]);
  expect(afterMany({ ...LATER, why: "unavailable", blames })).toBe("closed");
});

test("a ledger that is unavailable opens the breaker", () => {
  expect(afterMany({ ...LATER, why: "unavailable", blames: "ledger" })).toBe("open");
});

test("the log says which dependency is down, with its last error, and that it answers again (B1)", () => {
  const { breaker, clock, logs } = breakerWorld();
  const failed = { ...LATER, why: "unavailable", errorClass: "network" } as const;
  for (let times = 1; times < FAILURES_TO_OPEN; times += 1) {
    breaker.onOutcome({ ...failed, blames: "sink", reason: "connect ECONNREFUSED" });
  }
  breaker.onOutcome({ ...failed, blames: "ledger", reason: "the ledger does not answer" });
  breaker.onOutcome({ ...LATER, why: "retry", blames: "record", reason: "a bad row" });
  clock.advance(60_000);
  breaker.onReceive();
  breaker.onOutcome({ kind: "done", how: "committed" });
  expect(logs).toEqual([
    "the ledger is down, receiving is paused; its last failure was network: the ledger does not answer",
    "the ledger answers again; receiving continues",
  ]);
});
