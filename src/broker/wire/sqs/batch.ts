// Batches: the rules that refuse a whole batch, and the report on its entries.
//   B1. Rules for the whole request are checked before any entry, in AWS's order: empty, too many,
//       invalid id, duplicate id.
//   B2. Failed entries are reported with short codes; an empty list is omitted.

import { SQS_BATCH_BYTES_MAX, SQS_BATCH_ENTRIES_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { Fault } from "../../model/fault.ts";
import { refuse } from "../../model/fault.ts";
import type { RefusedAction } from "../protocol/call.ts";
import { missing } from "../protocol/parameters.ts";
import { booleanShape, list, structureShape, textShape, type ValueOf } from "../protocol/shape.ts";
import { SQS_ERRORS, shortCode } from "./sqs-errors.ts";

const ENTRY_ID = /^[A-Za-z0-9_-]{1,80}$/;

const failure = structureShape({
  Id: textShape,
  SenderFault: booleanShape,
  Code: textShape,
  Message: textShape,
});

type Failure = ValueOf<typeof failure>;

export const failures = list("BatchResultErrorEntry", failure);

interface Identified {
  readonly Id?: string | null | undefined;
}

/** Refuses a batch as a whole (B1). `element` is AWS's name for one entry. */
function checkBatch(entries: readonly Identified[], element: string): RefusedAction | null {
  if (entries.length === 0) {
    return refuse("EmptyBatchRequest", `There should be at least one ${element} in the request.`);
  }
  if (entries.length > SQS_BATCH_ENTRIES_MAX) {
    return refuse(
      "TooManyEntriesInBatchRequest",
      `Maximum number of entries per request are ${SQS_BATCH_ENTRIES_MAX}. ` +
        `You have sent ${entries.length}.`,
    );
  }
  for (let i = 0; i < entries.length; i++) {
    const id = entries[i]!.Id;
    if (id === undefined || id === null) return missing(`${element}.${i + 1}.Id`);
    if (!ENTRY_ID.test(id)) {
      return refuse(
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. " +
          "It can be at most 80 letters long.",
      );
    }
  }
  return checkDistinct(entries);
}

/** The ids of the entries; each entry also has `field`. Refuses the whole batch otherwise (B1). */
export function readBatchIds<E extends Identified>(
  entries: readonly E[],
  element: string,
  field: keyof E & string,
): Result<string[], Fault> {
  const refused = checkBatch(entries, element) ?? checkEntries(entries, element, field);
  return refused ?? succeed(entries.map((entry) => entry.Id!));
}

/** Refuses a batch in which an entry lacks a required field. */
function checkEntries<E>(
  entries: readonly E[],
  element: string,
  field: keyof E & string,
): RefusedAction | null {
  const at = entries.findIndex((entry) => !entry[field]);
  return at === -1 ? null : missing(`${element}.${at + 1}.${field}`);
}

export function checkBatchSize(sizeBytes: number): RefusedAction | null {
  if (sizeBytes <= SQS_BATCH_BYTES_MAX) return null;
  return refuse(
    "BatchRequestTooLong",
    `Batch requests cannot be longer than ${SQS_BATCH_BYTES_MAX} bytes. ` +
      `You have sent ${sizeBytes} bytes.`,
  );
}

/** The response to a batch, from the result of each entry (B2). */
export function reportBatch<S>(
  ids: readonly string[],
  results: readonly (Fault | null)[],
  success: (index: number) => S,
): { Successful: S[] | undefined; Failed: Failure[] | undefined } {
  const successful: S[] = [];
  const failed: Failure[] = [];
  for (let i = 0; i < ids.length; i++) {
    const fault = results[i]!;
    if (fault === null) successful.push(success(i));
    else failed.push(reportFailure(ids[i]!, fault));
  }
  return {
    Successful: successful.length === 0 ? undefined : successful,
    Failed: failed.length === 0 ? undefined : failed,
  };
}

function reportFailure(id: string, fault: Fault): Failure {
  return {
    Id: id,
    SenderFault: SQS_ERRORS[fault.name].side === "Sender",
    Code: shortCode(fault.name),
    Message: fault.message,
  };
}

function checkDistinct(entries: readonly Identified[]): RefusedAction | null {
  const ids = new Set<string>();
  for (const { Id: id } of entries) {
    if (ids.has(id!)) return refuse("BatchEntryIdsNotDistinct", `Id ${id} repeated.`);
    ids.add(id!);
  }
  return null;
}
