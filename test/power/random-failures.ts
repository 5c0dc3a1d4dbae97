// Random failures: draws which calls to the disk fail in a recorded run, as the list that the
// recorder reads (R3 of record-disk.c).
//   X1. The same seed gives the same list, and a failed test prints both.
//   X2. Every list has calls of several kinds that fail once, with either error. Most lists also
//       have a time without space, which ends: writes that grow a file fail, or all syncs do, as on
//       a thin device whose file system believes that it has space.

import { createSeededRandom, type SeededRandom } from "../../src/core/seeded-random.ts";

/** Each kind of call, and how many of it a run of 60 operations makes at least, roughly. */
const CALLS: readonly (readonly [string, number])[] = [
  ["write", 400],
  ["sync", 80],
  ["sync@-wal", 60],
  ["sync@.sqlite", 6],
  ["sync@.db", 6],
  ["truncate", 8],
  ["rename", 4],
  ["unlink", 6],
  ["create", 12],
  ["mkdir", 2],
];
const ERRORS = ["EIO", "ENOSPC"] as const;

/** A list of failures, drawn from `seed` (X1). */
export function drawFailures(seed: number): string {
  const random = createSeededRandom(seed).fork("failures");
  const single = Array.from({ length: random.between(2, 6) }, () => singleFailure(random));
  return [...single, ...spaceFailures(random)].join(",");
}

function singleFailure(random: SeededRandom): string {
  const [kind, calls] = random.pick(CALLS) ?? ["sync", 1];
  return `${kind}:${random.between(1, calls)}:1:${random.pick(ERRORS)}`;
}

/** X2 */
function spaceFailures(random: SeededRandom): string[] {
  const grow = `room:${random.between(1, 300)}:${random.between(5, 60)}:ENOSPC`;
  const thin = `sync:${random.between(1, 80)}:${random.between(2, 20)}:${random.pick(ERRORS)}`;
  return [[grow], [thin], [grow, thin], []][random.below(4)] ?? [];
}
