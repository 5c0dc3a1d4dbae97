// Runs: the processes and replays that a ledger has recorded, and their manifests.

import { manifestOfRun } from "../lineage/recorded/recorded-manifest.ts";
import { findRecordedRun } from "../lineage/recorded/recorded-run.ts";
import type { RunRow } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { listReplays } from "../replay/replay-registry.ts";
import { newestRuns } from "./lineage/recorded-facts.ts";
import { locationsOf } from "./lineage.ts";
import type { Sources } from "./sources.ts";

/** A run, and the pipeline that it ran. */
export type ListedRun = LedgerScope & RunRow;

/** What the ledger recorded of runs. */
export interface RunReader {
  /** The newest runs, and whether there are `more`. Default limit: 1,000. */
  list(options?: {
    readonly limit?: number | undefined;
  }): Promise<{ readonly runs: readonly ListedRun[]; readonly more: boolean }>;
  /** The manifest of a run, as pieces of JSON; null if the ledger has no such run. */
  manifest(id: string): Promise<AsyncIterable<string> | null>;
}

const RUNS_MAX = 1_000;

export function runsOf(sources: Sources): RunReader {
  return {
    async list({ limit = RUNS_MAX } = {}) {
      const [ledger, scopes] = [await sources.reader(), await sources.generations()];
      const runs = await newestRuns(ledger, scopes, limit + 1);
      const listed = runs.slice(0, limit).map(({ scope, row }) => ({ ...scope, ...row }));
      return { runs: listed, more: runs.length > limit };
    },
    async manifest(id) {
      const locationOf = await locationsOf(sources);
      const [ledger, scopes] = [await sources.reader(), await sources.generations()];
      const run = await findRecordedRun(ledger, scopes, id);
      if (run === null) return null;
      const replays = (await Promise.all(scopes.map((each) => listReplays(ledger, each)))).flat();
      const { missing = [] } = replays.find((each) => each.run === id) ?? {};
      const gone = missing.map(({ uri, reason }) => ({ uri, reason }));
      return manifestOfRun(ledger, run, locationOf, gone);
    },
  };
}
