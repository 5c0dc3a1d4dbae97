// Listed event: an object of a listing as the event that it exists.
//   V1. An object whose own event failed, is held, or is in flight has been noticed: it is left to
//       that event, as another attempt would be dead-lettered a second time.
//   V2. A past version that was applied is not applied again. The row of the object names the last
//       applied state only, so the records of the object are read.
//   V3. The records of a page of objects are read together, from the first key to the last. Where
//       the ledger has many others between them, the rest is read object by object. DynamoDB
//       orders long names by their first bytes, so a record of such a name may be missed here; its
//       claim finds it.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { compareUtf8 } from "../core/encoding/utf8-order.ts";
import { refuseValue, TidegateError } from "../core/errors.ts";
import { decodeObservation } from "../core/events/decode/observation.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { epochMs } from "../core/units.ts";
import type { Ledger, ListedRecord } from "../ports/ledger.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import type { InputObject, LedgerScope } from "../ports/record.ts";

/** The event that an object of a listing exists. */
export function eventOf(bucket: string, object: ListedObject): ObjectEvent {
  const { key, etag, size, versionId, lastModified } = object;
  const decoded = decodeObservation({
    source: "listing",
    bucket,
    key,
    keyEncoding: "raw",
    etag,
    size,
    lastModified: formatInstant(epochMs(lastModified)),
    versionId,
    traceId: null,
  });
  if (decoded.kind === "valid") return decoded.value;
  const [problem] = decoded.problems;
  refuseValue(`s3://${bucket}/${key}: ${problem?.path} ${problem?.reason}`);
}

const NOTICED: ReadonlySet<string> = new Set(["claimed", "released", "failed", "parked"]);
const RECORDS_MAX = 1_000;
/** Pages of records that are read for a page of objects (V3). */
const PAGES_MAX = 3;
/** Reads of the ledger at a time. */
const READS_MAX = 64;

export type Past = "applied" | "noticed" | null;

/**
 * What the ledger has about listed states of one bucket, in their order: each was applied (V2), or
 * its event came (V1). Without versions, a current state that was applied may have come back.
 */
export async function pastsOf(
  ledger: Ledger,
  scope: LedgerScope,
  events: readonly ObjectEvent[],
): Promise<readonly Past[]> {
  try {
    const read = await recordsOf(ledger, scope, events);
    const pasts: Past[] = [];
    const alone = new Map<string, Promise<ReadRecords>>();
    const readAlone = (event: ObjectEvent) => {
      const reading = alone.get(event.key) ?? recordsOf(ledger, scope, [event]);
      alone.set(event.key, reading);
      return reading;
    };
    for (let from = 0; from < events.length; from += READS_MAX) {
      const some = events.slice(from, from + READS_MAX).map(async (event) => {
        const isRead = read.before === null || compareUtf8(event.key, read.before) < 0;
        const { byKey } = isRead ? read : await readAlone(event); // V3
        return pastIn(event, byKey.get(event.key) ?? []);
      });
      pasts.push(...(await Promise.all(some)));
    }
    return pasts;
  } catch (error) {
    // A DynamoDB table without lists: the claims decide alone.
    if (!(error instanceof TidegateError) || error.code !== "TG_LISTING_OFF") throw error;
    return events.map(() => null);
  }
}

interface ReadRecords {
  readonly byKey: ReadonlyMap<string, readonly ListedRecord[]>;
  /** Records of keys before this one are complete; null: all are. */
  readonly before: string | null;
}

/** The records of the objects of events, all of them if it is one object (V3). */
async function recordsOf(
  ledger: Ledger,
  scope: LedgerScope,
  events: readonly ObjectEvent[],
): Promise<ReadRecords> {
  const byKey = new Map<string, ListedRecord[]>(events.map(({ key }) => [key, []]));
  const [first] = events;
  if (first === undefined) return { byKey, before: null };
  const { bucket } = first;
  let [keyFrom, keyTo] = [first.key, first.key];
  for (const { key } of events) {
    if (compareUtf8(key, keyFrom) < 0) keyFrom = key;
    if (compareUtf8(key, keyTo) > 0) keyTo = key;
  }
  const query = { by: "object", bucket, keyFrom, keyTo } as const;
  let after: string | null = null;
  let before = keyFrom;
  for (let pages = 0; pages < PAGES_MAX || byKey.size === 1; pages += 1) {
    const page = await ledger.listRecords(scope, query, { after, limit: RECORDS_MAX });
    for (const listed of page.records) byKey.get(listed.input.object?.key ?? "")?.push(listed);
    if (page.next === null) return { byKey, before: null };
    before = page.records.at(-1)?.input.object?.key ?? before;
    after = page.next;
  }
  return { byKey, before };
}

function pastIn(event: ObjectEvent, records: readonly ListedRecord[]): Past {
  let past: Past = null;
  for (const { record, input } of records) {
    const { object } = input;
    if (object === null || !isOfState(event, object)) continue;
    if (record.kind === "committed" && !record.superseded) return "applied"; // V2
    if (object.sequencer !== null && NOTICED.has(record.kind)) past = "noticed"; // V1
  }
  return past;
}

function isOfState(event: ObjectEvent, object: InputObject): boolean {
  if (object.versionId !== event.version_id) return false;
  return event.version_id !== null || (object.etag === event.etag && object.size === event.size);
}
