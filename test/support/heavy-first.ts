// Heavy first: the order in which test files start.
//   H1. Slow files come first, so that none of them runs alone at the end.
//   H2. The list below is enough: no earlier run is needed, so a fresh clone has the same order.
//   H3. All other files are in Vitest's own order, which remembers the last run.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Paths from the root. At the sizes of CI, each takes half a minute or more. */
export const HEAVY: readonly string[] = [
  "test/crash/crash.test.ts",
  "test/crash/ingest-race.test.ts",
  "test/crash/ingest-kill.test.ts",
  "test/crash/put-with-event.test.ts",
  "test/crash/fan-out.test.ts",
  "test/planted/planted-bugs.test.ts",
  "test/contracts/ledger-race.test.ts",
  "test/contracts/interleavings.dynamodb.test.ts",
  "test/browser/console.test.ts",
  "test/docs/tutorial.test.ts",
  "test/integration/pipeline-everywhere.test.ts",
  "test/integration/foreign-servers.test.ts",
  "test/integration/terraform-end-to-end.test.ts",
  "test/integration/iam-calls.test.ts",
  "test/integration/checkov.test.ts",
  "test/crash/ingest-zombie.test.ts",
  "test/pack/pack.test.ts",
  "test/integration/task.test.ts",
  "test/integration/dispatch.test.ts",
  "test/integration/bad-adapters.test.ts",
  "test/crash/crash-flaws.test.ts",
  "test/integration/jobs-commands.test.ts",
  "test/integration/downloads.test.ts",
];

/** The heavy files in the order of the list, then the others in their given order. */
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
