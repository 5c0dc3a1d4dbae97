// Full size: `npm test` runs a part of long lists of cases, and CI runs all of them.
//   F1. CI sets TIDEGATE_FULL=1 (.ci/run), and then nothing is left out.
//   F2. The part is the same in every run, so a failure repeats.
//   F3. A test that is left out is reported as skipped, with how to run it.

import { beforeEach, type TestContext } from "vitest";

export const isFullSize = process.env.TIDEGATE_FULL === "1"; // F1

const NOTE = "runs in CI, and here with TIDEGATE_FULL=1";

/** All cases at full size, otherwise every nth of them, starting with the first (F2). */
export function sampleOf<T>(every: number, cases: readonly T[], full = isFullSize): readonly T[] {
  return full ? cases : cases.filter((_, at) => at % every === 0);
}

/** Skips one test, at its start, unless the run has full size (F3). */
export function needsFullSize({ skip }: Pick<TestContext, "skip">): void {
  if (!isFullSize) skip(NOTE);
}

/** Skips the tests of the enclosing file or `describe` unless the run has full size. */
export function requireFullSize(): void {
  beforeEach(needsFullSize);
}
