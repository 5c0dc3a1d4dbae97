// Parts that tests need and a machine may lack. A missing part skips its tests with one printed
// line; TIDEGATE_REQUIRE_ALL=1 turns that into a failure.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs, epochMs } from "../../src/core/units.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Random } from "../../src/ports/random.ts";
import type { Turn } from "../../src/ports/turn.ts";

/** The event loop's own turn. */
export const turn: Turn = { afterTurn: (work) => void setImmediate(work) };

/** Tells, once, why tests are skipped; throws where everything is required. */
export function partMissing(part: string, reason: string): void {
  if (process.env.TIDEGATE_REQUIRE_ALL === "1") {
    throw new Error(`${part} is required (TIDEGATE_REQUIRE_ALL=1) but ${reason}`);
  }
  process.stderr.write(`skipped: ${part} tests, because ${reason}\n`);
}

/** Chance that nobody asserts anything about. */
export const random: Random = {
  fraction: () => Math.random(),
  below: (below) => Math.floor(Math.random() * below),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fork: () => random,
};

export const systemClock: Clock = {
  now: () => epochMs(Date.now()),
  monotonic: () => durationMs(Math.floor(performance.now())),
  sleep: async (span, signal) => void (await sleep(span, undefined, { signal })),
};
