// Real ports: the system's clock, randomness and event-loop turn, for tests of stores outside this
// process.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs, epochMs } from "../../../src/core/units.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Random } from "../../../src/ports/random.ts";
import type { Turn } from "../../../src/ports/turn.ts";

/** The event loop's own turn. */
export const turn: Turn = { afterTurn: (work) => void setImmediate(work) };

/** Randomness that no test asserts on. */
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
