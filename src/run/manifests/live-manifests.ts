// Live manifests: writes the manifests of a pipeline's runs while it runs.
//   V1. A part is written when it can no longer change: when its UTC day is over, or its run. The
//       ledger has everything that it says, so a process that is killed loses nothing: the next
//       start writes what is missing.
//   V2. It never delays the pipeline. A manifest that cannot be written is counted, logged and
//       tried again in the next round. Closing waits for at most CLOSE_MS.
//   V3. Processes that share a ledger may write the same part: they write the same bytes, once.
//   V4. The first part of a day is written last, so if it exists, the day is complete.

import { type DurationMs, days, minutes, msBetween, seconds } from "../../core/units.ts";
import { messageOf } from "../../ingest/policy/error-text.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { storedJson } from "../lineage/manifest-input.ts";
import { dayName, daysOf, type ManifestPart, partsOfDay } from "../lineage/recorded-manifest.ts";
import type { LocationOf } from "../lineage/recorded-run.ts";
import type { ManifestTarget } from "./manifest-target.ts";

/** Between two looks for parts that are due. */
export const ROUND_MS: DurationMs = minutes(10);
/** After midnight, for commits that are dated by another clock. */
export const DAY_GRACE_MS: DurationMs = minutes(5);
/** Without a heartbeat for so long, a run of another machine is over. */
export const DEAD_MS: DurationMs = minutes(15);
/** How long closing waits for the last part (V2). */
const CLOSE_MS: DurationMs = seconds(10);
/** Runs that a round looks at, newest first. */
const RUNS_MAX = 100;
const DAY_MS: DurationMs = days(1);

export interface LiveManifests {
  /** Writes what is due, the run itself included. Never rejects. */
  close(): Promise<void>;
}

export interface ManifestsPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly telemetry: Pick<Telemetry, "count" | "log">;
  readonly target: ManifestTarget;
  /** Whether a process of this machine is alive; null if its host is another one. */
  readonly isAlive: (host: string, pid: number) => boolean | null;
}

export interface ManifestsOptions {
  readonly scope: LedgerScope;
  readonly runId: string;
  readonly locationOf: LocationOf;
  /** Records per part. Default: PART_RECORDS. */
  readonly partRecords?: number;
}

export function startLiveManifests(
  ports: ManifestsPorts,
  options: ManifestsOptions,
): LiveManifests {
  const { clock } = ports;
  const closing = new AbortController();
  const ending = new AbortController();
  const writer = createManifestWriter(ports, options, ending.signal);
  const rounds = work();
  async function work(): Promise<void> {
    for (;;) {
      await writer.round();
      if (closing.signal.aborted) return;
      await clock.sleep(ROUND_MS, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
    }
  }
  return {
    async close() {
      closing.abort();
      const over = new AbortController();
      const deadline = clock.sleep(CLOSE_MS, over.signal).catch(() => undefined);
      await Promise.race([rounds.then(() => writer.round()), deadline]); // V2
      over.abort();
      ending.abort();
      ports.target.close();
    },
  };
}

/** Writes parts that are due; a round never rejects. */
function createManifestWriter(
  ports: ManifestsPorts,
  options: ManifestsOptions,
  signal: AbortSignal,
) {
  const { ledger, target, telemetry } = ports;
  const { scope, locationOf, partRecords } = options;
  /** Days whose parts are known to exist, as `run/day`. */
  const written = new Set<string>();

  async function writeDay(row: RunRow, day: ReturnType<typeof daysOf>[number]): Promise<void> {
    const name = `${row.id}/${dayName(day)}`;
    if (written.has(name)) return;
    if (!(await target.has(pathOf(row.id, { day: dayName(day), part: 1 }), signal))) {
      const sizes = partRecords === undefined ? {} : { partRecords };
      for (const part of await partsOfDay(ledger, { scope, row }, day, { locationOf, ...sizes })) {
        signal.throwIfAborted();
        await target.put(pathOf(row.id, part), part.text(), signal); // V4
      }
    }
    written.add(name);
  }

  return {
    async round(): Promise<void> {
      try {
        const { runs } = await ledger.listRuns(scope, { after: null, limit: RUNS_MAX });
        for (const row of runs) {
          for (const day of daysOf({ scope, row })) {
            if (isSealed(ports, options, row, day)) await writeDay(row, day); // V1
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        telemetry.count(CONSUMER_METRICS.manifestsFailed.name, 1);
        const reason = messageOf(error);
        telemetry.log("warn", `a run manifest was not written: ${reason}`, {}); // V2
      }
    },
  };
}

/** V1 */
function isSealed(
  { clock, isAlive }: ManifestsPorts,
  { runId }: ManifestsOptions,
  { id, endedAt, seenAt, environment }: RunRow,
  day: number,
): boolean {
  const now = clock.now();
  if (endedAt !== null || now >= day + DAY_MS + DAY_GRACE_MS) return true;
  if (id === runId) return false;
  const { host, pid } = storedJson(environment);
  const alive = isAlive(String(host), Number(pid));
  return alive === null ? msBetween(seenAt, now) > DEAD_MS : !alive;
}

/** The path of a part below its target. */
export function pathOf(run: string, { day, part }: Pick<ManifestPart, "day" | "part">): string {
  const name = part === 1 ? "run_manifest.json" : `run_manifest.${part}.json`;
  return `${run}/${day}/${name}`;
}
