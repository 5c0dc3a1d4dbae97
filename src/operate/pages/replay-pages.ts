// Replay pages: the replays of a pipeline and what a promotion would change, without its code.
//   R1. The state of a replay is in its shadow tables, so it needs the pipeline's sink. Without the
//       pipeline file, the ledger's entry is shown and the state is unknown.
//   R2. A row of a table may have a masked value under any name. So with masks, a comparison shows
//       which rows and columns differ, and no value.

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { RowDifference } from "../../ports/shadow.ts";
import { findReplay, listReplays, type ReplayEntry } from "../../replay/replay-registry.ts";
import type { ReplayContext } from "../replays/replay-context.ts";
import { diffReplay } from "../replays/replay-promotion.ts";
import { type ReplayStatus, showReplay } from "../replays/replay-status.ts";
import { type PageRequest, pageByPosition } from "./list-page.ts";

/** What another thread can be sent of a pipeline: enough to find its replays. */
export interface ReplayOwner {
  readonly pipeline: Pick<Pipeline, "name" | "generation" | "sink">;
  /** R2 */
  readonly hidden: boolean;
}

interface ReplayPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly url: string;
  readonly owner: ReplayOwner | null;
}

const SAMPLES_MAX = 10;
const MASKED = "***";
const TEXT_CHARS_MAX = 500;

/** Null for a pipeline of which the console has only the name (R1). */
function contextOf(
  { clock, ledger, url, owner }: ReplayPorts,
  scope: LedgerScope,
): ReplayContext | null {
  if (owner === null) return null;
  const { pipeline } = owner;
  if (pipeline.name !== scope.pipeline || pipeline.generation !== scope.generation) return null;
  return { pipeline: pipeline as Pipeline, ledger, url, clock };
}

export type ReplayView = ReturnType<typeof replayView>;

export async function readReplays(ports: ReplayPorts, scope: LedgerScope, page: PageRequest) {
  const { items, next } = pageByPosition(await listReplays(ports.ledger, scope), page);
  const replays: ReplayView[] = [];
  for (const entry of items) replays.push(await readEntry(ports, scope, entry));
  return { replays, next };
}

export async function readReplay(ports: ReplayPorts, scope: LedgerScope, run: string) {
  const entry = await findReplay(ports.ledger, scope, run);
  return entry === null ? null : readEntry(ports, scope, entry);
}

async function readEntry(ports: ReplayPorts, scope: LedgerScope, entry: ReplayEntry) {
  const context = contextOf(ports, scope);
  return replayView(entry, context === null ? null : await showReplay(context, entry.run));
}

function replayView(entry: ReplayEntry, status: ReplayStatus | null) {
  const { run, generation, request, inputs, missing, createdAt, digests } = entry;
  const { into, from, to, bucket, prefix } = request;
  const outcome = status?.outcome ?? null;
  return {
    run,
    generation,
    state: status?.state ?? ("unknown" as const), // R1
    into,
    from,
    to,
    prefix: bucket === null ? null : `s3://${bucket}/${prefix ?? ""}`,
    inputs,
    missing: missing.length,
    createdAt,
    codeDigest: digests.codeDigest,
    outcome: outcome === null ? null : outcomeView(outcome),
    tables: [...(status?.tables ?? [])].map(([table, shadow]) => ({ table, shadow })),
  };
}

function outcomeView({
  committed,
  superseded,
  failed,
  failures,
}: NonNullable<ReplayStatus["outcome"]>) {
  return { committed, superseded, failed, failures };
}

export async function readReplayDiff(ports: ReplayPorts, scope: LedgerScope, run: string) {
  if ((await findReplay(ports.ledger, scope, run)) === null) return null;
  const context = contextOf(ports, scope);
  if (context === null) {
    const message = "a comparison needs the pipeline file; start the console with --pipeline FILE";
    throw new TidegateError("TG_REPLAY_REFUSED", message); // R1
  }
  const hidden = ports.owner?.hidden ?? true;
  const tables = await diffReplay(context, run, SAMPLES_MAX);
  return {
    run,
    hidden,
    tables: tables.map(({ table, added, removed, changed, keptObjects, samples }) => {
      const shown = samples.map(({ kind, key, live, replayed }) => ({
        kind,
        key: rowView(key, hidden),
        live: live === null ? null : rowView(live, hidden),
        replayed: replayed === null ? null : rowView(replayed, hidden),
      }));
      return { table, added, removed, changed, keptObjects, samples: shown };
    }),
  };
}

function rowView(row: RowDifference["key"], hidden: boolean) {
  const entries = Object.entries(row).map(([column, value]) => {
    if (hidden) return [column, MASKED]; // R2
    return [column, value === null ? null : String(value).slice(0, TEXT_CHARS_MAX)];
  });
  return Object.fromEntries(entries) as Readonly<Record<string, string | null>>;
}
