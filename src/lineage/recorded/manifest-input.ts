// Manifest input: a record of the ledger, as a run manifest lists it.

import { isHeldFailure } from "../../ingest/late/held-note.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
import type { ListedRecord } from "../../ports/ledger.ts";
import { archivedIn } from "../../replay/replay-input.ts";
import { objectUri } from "../names.ts";
import { type ManifestInput, manifestInstant } from "../run-manifest.ts";

/** The order of a manifest's inputs (R2 of run-manifest.ts). */
export function byEventTime(a: ManifestInput, b: ManifestInput): number {
  if (a.eventTime !== b.eventTime) return a.eventTime < b.eventTime ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

export function manifestInputOf({ key, record, input }: ListedRecord): ManifestInput {
  const { object, source } = input;
  const archived = record.kind === "committed" ? archivedIn(record.effects) : null;
  return {
    key,
    kind: input.kind,
    uri: object === null ? (archived ?? source) : objectUri({ ...object, versionId: null }),
    versionId: object?.versionId ?? null,
    etag: object?.etag ?? null,
    size: object?.size ?? null,
    ...inputHashIn(record),
    sequencer: object?.sequencer ?? null,
    eventId: input.eventId,
    messageId: input.messageId,
    eventTime: manifestInstant(input.eventTime),
    lane: input.lane.lane,
    outcome: outcomeOf(record),
    result: record.kind === "committed" && record.digest !== "" ? record.digest : null,
    wrote: record.kind === "committed" ? writtenBy(record.effects) : {},
  };
}

/** How a record ended, in the words of people. */
function outcomeOf(record: ListedRecord["record"]): string {
  if (record.kind === "committed") return record.superseded ? "superseded" : "committed";
  if (record.kind !== "parked") return record.kind;
  return isHeldFailure(record.failure) ? "held" : "dead-lettered";
}

/** Effects by output, from the summary that the commit stored. */
function writtenBy(effects: string | null): Record<string, number> {
  const { effects: counts = {} } = storedJson(effects ?? "{}") as {
    effects?: Record<string, number>;
  };
  const wrote: Record<string, number> = {};
  for (const [name, count] of Object.entries(counts)) {
    const [kind = name, output = kind] = name.split(" ", 2);
    wrote[output] = (wrote[output] ?? 0) + count;
  }
  return wrote;
}

/** A stored JSON object; empty if it is none. */
export function storedJson(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
