// Record items: maps records and objects to items of the table and back.
//   I1. `by` is the unique id of the write that produced the item. A condition on it is a condition
//       on the whole item, even if the item was deleted and created again, which a version counter
//       would miss.
//   I2. A write that the SDK repeats after a lost response finds its own id and knows that it
//       succeeded. The items of a transaction share one id, and any of them proves all.

import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { epochMs } from "../../core/units.ts";
import { fromAppliedText, toAppliedText } from "../../ledger/object-order.ts";
import { fromInputColumns, toInputColumns } from "../../ledger/record-input.ts";
import { ABSENT, asRecordKey } from "../../ledger/record-state.ts";
import { fromColumns, toColumns } from "../../ledger/rows/record-columns.ts";
import type {
  LedgerScope,
  ObjectState,
  RecordInput,
  RecordKey,
  RecordState,
  StoredRecord,
} from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";

export interface RecordItemState {
  readonly record: RecordState;
  /** Null if the item is missing. */
  readonly input: RecordInput | null;
  readonly log: string;
  /** Id of the write that produced the item; null if the item is missing. */
  readonly by: string | null;
}

export interface ObjectItemState {
  readonly object: ObjectState | null;
  readonly by: string | null;
}

// Names of pipelines and buckets contain no "#"; parts that may contain one come last.
export function recordPk({ pipeline, generation }: LedgerScope, key: RecordKey): string {
  return `r#${pipeline}#${generation}#${key}`;
}

export function objectPk(
  { pipeline, generation }: LedgerScope,
  { bucket, key }: { readonly bucket: string; readonly key: string },
): string {
  return `o#${pipeline}#${generation}#${bucket}#${key}`;
}

/** Scope and kind of an item, from its key; null if it is neither record nor object. */
export function parsePk(pk: string): { kind: "r" | "o"; scope: LedgerScope } | null {
  const [kind, pipeline, generation] = pk.split("#", 3);
  if ((kind !== "r" && kind !== "o") || pipeline === undefined) return null;
  return { kind, scope: { pipeline, generation: Number(generation) } };
}

const text = (value: string): AttributeValue => ({ S: value });
const number = (value: number): AttributeValue => ({ N: String(value) });

/** When DynamoDB may delete an item, in seconds; never before the ledger treats it as expired. */
export function ttlOf(expiresAt: number): AttributeValue {
  return number(Math.ceil(expiresAt / 1_000));
}

/** A record as it is saved. */
export interface SavedRecord {
  readonly record: StoredRecord;
  readonly input: RecordInput;
  readonly log: string;
}

export function toRecordItem(
  pk: string,
  { record, input, log }: SavedRecord,
  by: string,
): DynamoItem {
  const row = toColumns(record);
  const from = toInputColumns(input);
  const item: DynamoItem = {
    pk: text(pk),
    by: text(by),
    st: text(row.state),
    fence: number(row.fence),
    att: number(row.attempts),
    seen: number(row.seenAt),
    chg: number(row.changedAt),
    exp: number(row.expiresAt),
    ttl: ttlOf(row.expiresAt),
    lease: number(row.leaseUntil),
    log: { L: [text(log)] },
    evt: number(from.eventTime),
    inp: text(from.input),
  };
  if (from.bucket !== null) item.bkt = text(from.bucket);
  if (from.objectKey !== null) item.obj = text(from.objectKey);
  if (row.owner !== null) item.owner = text(row.owner);
  if (row.digest !== null) item.dig = text(row.digest);
  if (row.detail !== null) item.det = text(row.detail);
  return item;
}

/** The id of the write that produced an item (I1). */
export function writeOf(item: DynamoItem): string {
  return present(item.by?.S, "the write of an item");
}

const numberIn = (item: DynamoItem, name: string): number =>
  Number(present(item[name]?.N, `the number ${name} of an item`));

export function fromRecordItem(item: DynamoItem | undefined): RecordItemState {
  if (item === undefined) return { record: ABSENT, input: null, log: "", by: null };
  const record = fromColumns({
    state: present(item.st?.S, "the state of a record"),
    fence: numberIn(item, "fence"),
    attempts: numberIn(item, "att"),
    seenAt: numberIn(item, "seen"),
    changedAt: numberIn(item, "chg"),
    expiresAt: numberIn(item, "exp"),
    leaseUntil: numberIn(item, "lease"),
    owner: item.owner?.S ?? null,
    digest: item.dig?.S ?? null,
    detail: item.det?.S ?? null,
  });
  const log = (item.log?.L ?? []).map((part) => part.S ?? "").join("");
  const input = fromInputColumns({
    eventTime: numberIn(item, "evt"),
    bucket: item.bkt?.S ?? null,
    objectKey: item.obj?.S ?? null,
    input: present(item.inp?.S, "the input of a record"),
  });
  return { record, input, log, by: writeOf(item) };
}

export function toObjectItem(pk: string, object: ObjectState, by: string): DynamoItem {
  const { sequencer, appliedKey, expiresAt } = object;
  const applied = toAppliedText(object);
  return {
    pk: text(pk),
    by: text(by),
    seq: text(sequencer),
    key: text(appliedKey),
    exp: number(expiresAt),
    ttl: ttlOf(expiresAt),
    ...(applied !== null && { app: text(applied) }),
  };
}

export function fromObjectItem(item: DynamoItem | undefined): ObjectItemState {
  if (item === undefined) return { object: null, by: null };
  const object = {
    sequencer: present(item.seq?.S, "the sequencer of an object"),
    appliedKey: asRecordKey(present(item.key?.S, "the applied key of an object")),
    expiresAt: epochMs(numberIn(item, "exp")),
    ...fromAppliedText(item.app?.S ?? null),
  };
  return { object, by: writeOf(item) };
}
