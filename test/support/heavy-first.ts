// Heavy first: the order in which test files start.
//   H1. Slow files come first, so that none of them runs alone at the end.
//   H2. The list below is enough: no earlier run is needed, so a fresh clone has the same order.
//   H3. All other files are in Vitest's own order, which remembers the last run.
//   H4. Files that share workers come last, so that a worker keeps its modules; the slow ones of
//       them come before the others.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Paths from the root. At the sizes of CI, each takes half a minute or more. */
export const HEAVY: readonly string[] = [
  "test/crash/crash.test.ts",
  "test/crash/ingest-race.test.ts",
  "test/crash/ingest-kill.test.ts",
  "test/crash/put-with-event.test.ts",
  "test/crash/fan-out.test.ts",
  "test/planted/planted-bugs.test.ts",
  "test/power/power.test.ts",
  "test/power/ext4.test.ts",
  "test/contracts/ledger-race.test.ts",
  "test/contracts/interleavings.dynamodb.test.ts",
  "test/browser/console.test.ts",
  "test/browser/foreign-pages.test.ts",
  "test/docs/tutorial.test.ts",
  "test/integration/aws/pipeline-everywhere.test.ts",
  "test/integration/aws/foreign-servers.test.ts",
  "test/integration/infra/terraform-end-to-end.test.ts",
  "test/integration/infra/iam-calls.test.ts",
  "test/integration/infra/checkov.test.ts",
  "test/crash/ingest-zombie.test.ts",
  "test/pack/pack.test.ts",
  "test/integration/adapters/task.test.ts",
  "test/integration/adapters/dispatch.test.ts",
  "test/integration/adapters/bad-adapters.test.ts",
  "test/crash/crash-flaws.test.ts",
  "test/integration/produce/jobs-commands.test.ts",
  "test/integration/examples/downloads.test.ts",
];

/** Files of the project `together` that take ten seconds or more (H4). */
export const HEAVY_TOGETHER: readonly string[] = [
  "src/sim/mistakes/mistakes.test.ts",
  "test/fuzz/socket.test.ts",
  "test/conformance/cli.test.ts",
  "src/sim/run-seed.test.ts",
  "src/cli/sim.test.ts",
  "test/docs/stations-readme.test.ts",
  "test/conformance/boto3.test.ts",
  "test/docs/guides.test.ts",
  "src/readers/time-slice.test.ts",
  "test/lineage/openlineage-events.test.ts",
  "test/scenarios/backfill.test.ts",
  "test/scenarios/audit.test.ts",
  "src/ingest/stages/late.test.ts",
  "test/model/reference.model.test.ts",
  "test/scenarios/lambda.test.ts",
  "test/scenarios/tasks.test.ts",
  "test/scenarios/archive.test.ts",
  "test/tidy.test.ts",
];

/** The heavy files in the order of the list, then the others in their given order. */
export function heavyFirst<File extends { readonly moduleId: string }>(
  files: readonly File[],
  heavy: readonly string[] = HEAVY,
): File[] {
  const rank = ({ moduleId }: File): number => {
    const at = heavy.findIndex((file) => moduleId.endsWith(`/${file}`));
    return at === -1 ? heavy.length : at;
  };
  return files.toSorted((a, b) => rank(a) - rank(b)); // H1
}

export class HeavyFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specs); // H3
    const together = sorted.filter(({ project }) => project.name === "together");
    const apart = sorted.filter(({ project }) => project.name !== "together");
    return heavyFirst([...apart, ...heavyFirst(together, HEAVY_TOGETHER)]); // H4
  }
}
