// The machine's own clock, chance and turn, for tests of stores that live outside of this process.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs, epochMs } from "../../../src/core/units.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Random } from "../../../src/ports/random.ts";
import type { Turn } from "../../../src/ports/turn.ts";

/** The event loop's own turn. */
export const turn: Turn = { afterTurn: (work) => void setImmediate(work) };

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
