// Attempts step: ends a record whose attempts are used up. The last one crashed its consumer, so
// nothing else has ended it.

import type { Step } from "./work.ts";

export function createAttemptsStep(attemptsMax: number): Step {
  return ({ claim }) => (claim.attempt > attemptsMax ? { kind: "exhausted", claim } : "next");
}
