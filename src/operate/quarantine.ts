// Quarantine: rows that a schema rejected, listed, redriven and dropped.

import { type Progress, progressOf } from "../core/progress.ts";
import { type DurationMs, durationMs, minutes } from "../core/units.ts";
import {
  dropSet,
  type QuarantinedSet,
  quarantinedSets,
  type RedrivenSet,
  redriveSets,
} from "../ingest/quarantine/quarantine-access.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { Sources } from "./sources.ts";

export type { QuarantinedSet, RedrivenSet } from "../ingest/quarantine/quarantine-access.ts";

/** Which sets of rows. */
export interface QuarantineSelection {
  /** The record key, the set, or any part of `s3://bucket/key`. */
  readonly key?: string | undefined;
  /** Sets of this generation, whatever the operator's is. */
  readonly generation?: number | undefined;
  /** Sets at most. Default: 100,000. */
  readonly limit?: number | undefined;
}

/** Options of `redrive`. */
export interface QuarantineRedriveRequest {
  /** How long a redrive follows the sets. Default: 2 minutes. */
  readonly followMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a redrive did. */
export interface QuarantineRedriveSummary {
  /** Sets that were sent. */
  readonly sent: number;
  /** Sets that committed without a rejected row. */
  readonly committed: number;
  /** Sets with rows that were rejected again, that were dead-lettered, or that did not end. */
  readonly unwell: number;
}

/** The rows that a schema rejected. */
export interface QuarantinedRows {
  list(selection?: QuarantineSelection): AsyncIterable<QuarantinedSet>;
  /** Runs quarantined rows again, on their own, and follows each set to its outcome. */
  redrive(
    selection?: QuarantineSelection,
    request?: QuarantineRedriveRequest,
  ): Progress<RedrivenSet, QuarantineRedriveSummary>;
  /** Deletes quarantined rows permanently; each step is a set that was deleted. */
  drop(selection?: QuarantineSelection): Progress<QuarantinedSet, number>;
}

const SETS_MAX = 100_000;
const FOLLOW_MS: DurationMs = minutes(2);

export function quarantinedRowsOf(sources: Sources): QuarantinedRows {
  return {
    async *list(selection = {}) {
      const scopes = await sources.scopes(selection.generation);
      yield* listSets(await sources.reader(), scopes, selection);
    },
    redrive(selection = {}, request = {}) {
      const summary = { sent: 0, committed: 0, unwell: 0 };
      return progressOf(redrive(sources, selection, request, summary), () => summary);
    },
    drop(selection = {}) {
      let dropped = 0;
      async function* run() {
        const { ledger, scope } = await targetOf(sources, selection);
        for await (const set of listSets(ledger, [scope], selection)) {
          await dropSet(ledger, scope, set);
          dropped += 1;
          yield set;
        }
      }
      return progressOf(run(), () => dropped);
    },
  };
}

async function targetOf(sources: Sources, { generation }: QuarantineSelection) {
  const [ledger, scope] = await Promise.all([
    sources.writer(),
    sources.scope("quarantined", generation),
  ]);
  return { ledger, scope };
}

async function* listSets(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  { key = "", limit = SETS_MAX }: QuarantineSelection,
): AsyncGenerator<QuarantinedSet, void> {
  let listed = 0;
  for (const scope of scopes) {
    for await (const set of quarantinedSets(ledger, scope, key)) {
      if (listed >= limit) return;
      listed += 1;
      yield set;
    }
  }
}

async function* redrive(
  sources: Sources,
  selection: QuarantineSelection,
  { followMs, signal }: QuarantineRedriveRequest,
  summary: { sent: number; committed: number; unwell: number },
): AsyncGenerator<RedrivenSet, void> {
  const { clock, random } = sources;
  const { ledger, scope } = await targetOf(sources, selection);
  const sets = await Array.fromAsync(listSets(ledger, [scope], selection));
  const [first] = sets;
  if (first === undefined) return;
  const queues = await sources.queues(async () => first.facts.queue);
  if (queues === null) return;
  const options = { followMs: followMs === undefined ? FOLLOW_MS : durationMs(followMs), signal };
  const ports = { clock, random, ledger, queue: queues.queue };
  for await (const event of redriveSets(ports, scope, sets, options)) {
    if (event.kind === "sent") summary.sent += 1;
    else if (event.kind === "committed" && event.again === 0) summary.committed += 1;
    else if (event.kind !== "outdated") summary.unwell += 1;
    yield event;
  }
}
