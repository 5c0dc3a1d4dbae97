// Search records: finds records by a part of a name in their input, by reading all of them. The
// checks are the same for every store.

import type { LedgerScope, RecordInput, RecordKey } from "../ports/record.ts";
import { checkScope, checkSearch } from "./batches.ts";

/** What a record's columns must contain; either is enough. */
export interface SearchedText {
  /** A part of the object's URL, `s3://bucket/key`. */
  readonly url: string;
  /** As it occurs in the column `input`, whose names are JSON strings. */
  readonly inJson: string;
}

/** May also find records that have the text in another field of their input. */
export type SearchInputs = (
  scope: LedgerScope,
  text: SearchedText,
  limit: number,
) => Promise<RecordKey[]>;

export function searchCall(search: SearchInputs) {
  return {
    async searchRecords(scope: LedgerScope, text: string, limit: number): Promise<RecordKey[]> {
      checkScope(scope);
      checkSearch(text, limit);
      const inJson = JSON.stringify(text).slice(1, -1);
      return await search(scope, { url: text, inJson }, limit);
    },
  };
}

/** The URL of an object. */
export function urlOfObject({ bucket, key }: { bucket: string; key: string }): string {
  return `s3://${bucket}/${key}`;
}

/** The names by which people know a record: its object or its key, its event and its message. */
export function namesOf({ object, dedupeKey, eventId, messageId }: RecordInput): string[] {
  const url = object === null ? null : urlOfObject(object);
  return [url, dedupeKey, eventId, messageId].filter(
    (name) => name !== null && name !== "",
  ) as string[];
}
