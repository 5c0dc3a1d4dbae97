// Store quarantine: writes and reads the notes of a set (Q2 of quarantine.ts).

import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { NumberedRow } from "../../ports/rows.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { Claim } from "../stages/claim.ts";
import type { WorkRecord } from "../stages/decode.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import {
  type BadRow,
  chunkNames,
  decodeChunk,
  type QuarantineRef,
  quarantineNotes,
} from "./quarantine.ts";

export interface QuarantinePorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly masked: RecordMask;
}

export interface QuarantineOptions {
  readonly scope: LedgerScope;
  readonly owner: string;
  readonly pipeline: Pipeline;
  /** The queue that the pipeline reads. */
  readonly queue: string;
}

/** Stores the rows that an attempt quarantines; null if there are none. */
export type StoreQuarantine = (attempt: {
  readonly record: WorkRecord;
  readonly claim: Claim;
  readonly rows: readonly BadRow[];
  readonly inFlight: InFlightDelivery;
}) => Promise<QuarantineRef | null>;

export function createQuarantine(
  { clock, ledger, masked }: QuarantinePorts,
  { scope, owner, pipeline, queue }: QuarantineOptions,
): StoreQuarantine {
  return async ({ record, claim, rows, inFlight }) => {
    const { content } = record;
    if (rows.length === 0 || content.kind !== "object") return null;
    const { event, redriven } = content;
    const shown = masked.objectOf(record, masked.secretsOf(record)) ?? { bucket: "", key: "" };
    const facts = {
      event,
      shown,
      queue,
      group: inFlight.delivery.groupId,
      mask: pipeline.mask,
      tries: (redriven?.tries ?? 0) + 1,
    };
    const { startedAt } = claim;
    const { ref, notes } = quarantineNotes(record.key, rows, facts, {
      owner,
      startedAt,
      now: clock.now(),
    });
    for (const note of notes) await ledger.addNotes(scope, [note]);
    return ref;
  };
}

/** The rows of a set. A missing note is permanent: it expired, or the set was dropped. */
export async function* readQuarantine(
  ledger: Ledger,
  scope: LedgerScope,
  ref: QuarantineRef,
): AsyncGenerator<NumberedRow> {
  for (const name of chunkNames(ref)) {
    const note = await ledger.findNote(scope, "quarantined", name);
    if (note === undefined) {
      const message = "the quarantined rows no longer exist; they were dropped, or have expired";
      throw new PermanentError(message, { class: "missing-rows" });
    }
    for (const { line, unit, row } of decodeChunk(note.body).rows) {
      yield { line, value: row, ...(unit === "row" && { unit }) };
    }
  }
}

/** Removes the notes of a set. */
export async function removeQuarantine(
  ledger: Ledger,
  scope: LedgerScope,
  ref: QuarantineRef,
): Promise<void> {
  await ledger.removeNotes(scope, "quarantined", chunkNames(ref));
}
