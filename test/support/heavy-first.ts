// Heavy first: the order in which the test files are started.
//   H1. Files that take long come first, so that none of them runs alone at the end.
//   H2. Nobody has to have run them before: a fresh clone knows as much as this page.
//   H3. All else is in Vitest's own order, which remembers the last run.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** From the root; at the sizes of CI, each of them takes half a minute or more. */
export const HEAVY: readonly string[] = [
  "test/crash/crash.test.ts",
  "test/crash/ingest-race.test.ts",
  "test/crash/ingest-kill.test.ts",
  "test/crash/put-with-event.test.ts",
  "test/crash/fan-out.test.ts",
  "test/planted/planted-bugs.test.ts",
  "test/contracts/ledger-race.test.ts",
  "test/contracts/interleavings.dynamodb.test.ts",
  "test/docs/tutorial.test.ts",
  "test/integration/pipeline-everywhere.test.ts",
  "test/crash/ingest-zombie.test.ts",
  "test/pack/pack.test.ts",
  "test/crash/crash-flaws.test.ts",
];

/** The heavy ones in their order, then the others in theirs. */
export function heavyFirst<File extends { readonly moduleId: string }>(files: File[]): File[] {
  const rank = ({ moduleId }: File): number => {
    const at = HEAVY.findIndex((file) => moduleId.endsWith(`/${file}`));
    return at === -1 ? HEAVY.length : at;
  };
  return files.toSorted((a, b) => rank(a) - rank(b)); // H1
}

export class HeavyFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    return heavyFirst(await super.sort(specs)); // H3
  }
}
