// Replay status: what is known about the replays of a pipeline, and whether one is running.
//   S1. One replay of a pipeline runs at a time. A process that was killed does not block the next:
//       on the same machine its process id tells, elsewhere its heartbeat.

import { msBetween } from "../../core/units.ts";
import type { NondeterministicUse } from "../../platform/handler-uses.ts";
import { HOLDER_MS_MAX, readHolder } from "../../replay/replay-holder.ts";
import {
  cancelReplay,
  isCancelled,
  listReplays,
  type ReplayEntry,
  requireReplay,
} from "../../replay/replay-registry.ts";
import type { ReplayOutcome } from "../../replay/run-replay.ts";
import { mayRun } from "../../run/upkeep/process-running.ts";
import { type ReplayContext, scopeOf, shadowOf } from "./replay-context.ts";
import { refuseReplay } from "./replay-refusals.ts";

/** What a replay is doing, or how it ended. */
export type ReplayState =
  | "running"
  | "stopped"
  | "cancelled"
  | "failed"
  | "ready"
  | "promoted"
  | "complete";

/** A replay and what is known about it. */
export interface ReplayStatus {
  readonly entry: ReplayEntry;
  readonly state: ReplayState;
  /** Null if it never ran to an end. */
  readonly outcome: ReplayOutcome | null;
  /** The shadow's table of each table; empty for a replay into the live tables. */
  readonly tables: ReadonlyMap<string, string>;
  /** What the handler used in this process that another run gets otherwise, such as the clock. */
  readonly uses: readonly NondeterministicUse[];
}

/** The replays of the pipeline, newest first. */
export async function statusesOf(context: ReplayContext): Promise<readonly ReplayStatus[]> {
  const all: ReplayStatus[] = [];
  for (const entry of await listReplays(context.ledger, scopeOf(context))) {
    all.push(await statusOf(context, entry));
  }
  return all;
}

/** Throws TG_REPLAY_REFUSED for an unknown run. */
export async function showReplay(context: ReplayContext, run: string): Promise<ReplayStatus> {
  return statusOf(context, await requireReplay(context.ledger, scopeOf(context), run));
}

export async function cancelRun(context: ReplayContext, run: string): Promise<void> {
  const scope = scopeOf(context);
  const entry = await requireReplay(context.ledger, scope, run);
  const { state } = await statusOf(context, entry);
  if (state !== "running") refuseReplay(`the run ${run} is ${state}, not running`);
  await cancelReplay(context, scope, entry);
}

/** S1 */
export async function refuseRunning(context: ReplayContext): Promise<void> {
  for (const { state, entry } of await statusesOf(context)) {
    if (state !== "running") continue;
    refuseReplay(
      `the run ${entry.run} of ${context.pipeline.name} is running; wait for it, or cancel it ` +
        `with tidegate replay cancel ${entry.run}`,
    );
  }
}

export async function statusOf(context: ReplayContext, entry: ReplayEntry): Promise<ReplayStatus> {
  const { ledger, clock } = context;
  const holder = await readHolder(ledger, scopeOf(context), entry);
  const outcome = holder?.outcome ?? null;
  const isShadow = entry.request.into === "shadow";
  const shadow = isShadow ? shadowOf(context, entry.shadow, entry.run) : null;
  const tables = shadow?.tables ?? new Map();
  const stored = await shadow?.state();
  await shadow?.close();
  const stateOf = async (): Promise<ReplayState> => {
    if (stored === "promoted" || stored === "ready") return stored;
    if (outcome?.how === "complete") return "complete";
    const isAlive =
      holder !== null &&
      outcome === null &&
      msBetween(holder.at, clock.now()) < HOLDER_MS_MAX &&
      mayRun(holder);
    if (isAlive) return "running"; // S1
    if (await isCancelled(ledger, scopeOf(context), entry)) return "cancelled";
    return outcome?.how === "failed" ? "failed" : "stopped";
  };
  return { entry, state: await stateOf(), outcome, tables, uses: [] };
}
