// Effects summary: what the ledger stores about the effects of a commit, for `tidegate why`, and the
// facts that other parts read from it.

import { canonicalJson } from "../../../core/encoding/canonical-json.ts";
import { decodeInputHash, type InputHash, noHash } from "../../../core/input-hash.ts";
import { EFFECTS_CHARS_MAX } from "../../../ledger/batches.ts";
import type { RecordKey, StoredRecord } from "../../../ports/record.ts";
import type { Effect } from "../../../ports/sink.ts";

export interface CommitFacts {
  readonly tookMs: number;
  /** The short form of the input's hash (core/input-hash.ts). */
  readonly hash: string;
  readonly quarantined?: { readonly set: string; readonly rows: number };
  /** The set of quarantined rows that the record redrives: its key is made of it. */
  readonly redrives?: { readonly of: RecordKey; readonly set: string };
  /** Where the message is (R6 of prepare.ts). */
  readonly archived?: string;
  /** The place of a listed state among the events of its object (R5 of prepare.ts). */
  readonly sequencer?: string;
}

/** A short summary of a record's effects. */
export function summariseEffects(counts: ReadonlyMap<string, number>, facts: CommitFacts): string {
  const summarise = (all: ReadonlyMap<string, number>) =>
    canonicalJson({ effects: Object.fromEntries(all), ...facts });
  const byTable = summarise(counts);
  if (byTable.length <= EFFECTS_CHARS_MAX) return byTable;
  const kinds = new Map<string, number>();
  for (const [name, count] of counts) {
    const kind = name.split(" ", 1)[0] ?? name;
    kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  }
  return summarise(kinds);
}

/** The hash of a record's input, from the summary of its commit. */
export function inputHashIn(record: StoredRecord): InputHash {
  if (record.kind !== "committed") return noHash("not-committed");
  try {
    return decodeInputHash((JSON.parse(record.effects ?? "{}") as { hash?: unknown }).hash);
  } catch {
    return noHash("not-recorded");
  }
}

/** The set that the record redrives, from the summary of its commit; null if it names none. */
export function redrivenIn(effects: string): NonNullable<CommitFacts["redrives"]> | null {
  try {
    const { redrives } = JSON.parse(effects) as Partial<CommitFacts>;
    return redrives ?? null;
  } catch {
    return null;
  }
}

/** Effects by kind and table. */
export function effectCounts(effects: readonly Effect[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const effect of effects) {
    const name =
      effect.kind === "custom" || effect.kind === "sql"
        ? effect.kind
        : `${effect.kind} ${String(effect.table)}`.toWellFormed();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
