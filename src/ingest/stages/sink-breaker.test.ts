import { expect, test } from "vitest";
import { createManualClock, FAR_AHEAD } from "../../../test/support/manual-clock.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { seconds } from "../../core/units.ts";
import { FAILURES_TO_OPEN } from "../policy/breaker.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import type { RecordOutcome } from "./outcome.ts";
import { createSinkBreaker } from "./sink-breaker.ts";

function afterMany(outcome: RecordOutcome) {
  const clock = createManualClock(FAR_AHEAD);
  const random = createSeededRandom(1);
  const breaker = createSinkBreaker({ clock, random, telemetry: SILENT }, "q");
  for (let times = 0; times < 2 * FAILURES_TO_OPEN; times += 1) breaker.onOutcome(outcome);
  return breaker.kind();
}

const LATER = { kind: "later", delayMs: seconds(5) } as const;

test("records that are busy, such as those locked by a frozen process, never open the breaker", () => {
  expect(afterMany({ ...LATER, why: "busy", blames: "record" })).toBe("closed");
});

test("a ledger that is unavailable opens the breaker", () => {
  expect(afterMany({ ...LATER, why: "unavailable", blames: "ledger" })).toBe("open");
});
