// Heavy first: the order in which the test files are started.
//   H1. Files that take long come first, so that none of them runs alone at the end.
//   H2. Nobody has to have run them before: a fresh clone knows as much as this page.
//   H3. All else is in Vitest's own order, which remembers the last run.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** In the order of what they take, at the sizes of CI. */
const HEAVY = ["test/crash/crash.test.ts"];

function rankOf({ moduleId }: TestSpecification): number {
  const at = HEAVY.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at === -1 ? HEAVY.length : at;
}

export class HeavyFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(specs); // H3
    return usual.toSorted((a, b) => rankOf(a) - rankOf(b)); // H1
  }
}
