// Ledger scopes: many small states in one DynamoDB table, each in its own scope, written and read
// in bulk. A state is reached once and copied to all cases that start from it.

import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetItemCommand, BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { liveNote, noteOf } from "../../src/ledger/notes.ts";
import { decodeEntries } from "../../src/ledger/record-log.ts";
import { liveObject, liveRecord } from "../../src/ledger/record-state.ts";
import { liveRun, runOf } from "../../src/ledger/runs.ts";
import type { RecordKey } from "../../src/ports/record.ts";
import { LIST_ATTRIBUTES } from "../../src/stores/dynamodb/ledger-table.ts";
import { listAttributes } from "../../src/stores/dynamodb/list-items.ts";
import { fromNoteItem, notePk } from "../../src/stores/dynamodb/note-items.ts";
import {
  fromObjectItem,
  fromRecordItem,
  objectPk,
  recordPk,
} from "../../src/stores/dynamodb/record-items.ts";
import { fromRunItem, runPk } from "../../src/stores/dynamodb/run-items.ts";
import { A, B, FORMER, NOTE, NOW, OBJECT, RUN_ID, type Scope } from "./ledger-moves.ts";

/** Limits of DynamoDB. */
const BATCH_WRITE_MAX = 25;
const BATCH_GET_MAX = 100;

type Item = Record<string, AttributeValue>;
const LISTED = ["lp", ...Object.values(LIST_ATTRIBUTES)] as const;

export interface LedgerScopes {
  /** Copies all of one scope to others. */
  copy(from: Scope, to: readonly Scope[]): Promise<void>;
  /** Like `look` of ledger-moves.ts, for many scopes at once. */
  lookAtAll(scopes: readonly Scope[]): Promise<unknown[][]>;
  /** Deletes everything in the scope. */
  forget(scope: Scope): Promise<void>;
}

const looked = (scope: Scope): string[] => [
  recordPk(scope, A),
  recordPk(scope, B),
  objectPk(scope, OBJECT),
  notePk(scope, NOTE.kind, NOTE.name),
  runPk(scope, RUN_ID),
];
const pksOf = (scope: Scope): string[] => [...looked(scope), recordPk(scope, FORMER)];

function* inBatches<T>(all: readonly T[], max: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += max) yield all.slice(at, at + max);
}

export function createLedgerScopes(client: DynamoDBClient, table: string): LedgerScopes {
  const read = async (pks: readonly string[]): Promise<Map<string, Item>> => {
    const items = new Map<string, Item>();
    for (const batch of inBatches(pks, BATCH_GET_MAX)) {
      const Keys = batch.map((pk) => ({ pk: { S: pk } }));
      const RequestItems = { [table]: { Keys, ConsistentRead: true } };
      const { Responses } = await client.send(new BatchGetItemCommand({ RequestItems }));
      for (const item of Responses?.[table] ?? []) items.set(item.pk?.S ?? "", item);
    }
    return items;
  };
  return {
    async copy(from, to) {
      const items = [...(await read(pksOf(from))).values()];
      const puts = to.flatMap((scope) =>
        items.map((item) => ({ PutRequest: { Item: moved(item, from, scope) } })),
      );
      for (const batch of inBatches(puts, BATCH_WRITE_MAX)) {
        const RequestItems = { [table]: [...batch] };
        await client.send(new BatchWriteItemCommand({ RequestItems }));
      }
    },
    async lookAtAll(scopes) {
      const items = await read(scopes.flatMap(looked));
      return scopes.map((scope) => {
        const [a, b, ...more] = looked(scope).map((pk) => items.get(pk));
        checkLists(scope, A, a);
        checkLists(scope, B, b);
        return leftIn([a, b, ...more]);
      });
    },
    async forget(scope) {
      const deletes = pksOf(scope).map((pk) => ({ DeleteRequest: { Key: { pk: { S: pk } } } }));
      await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: deletes } }));
    },
  };
}

/** The item with another pipeline in its key, and in those of the indexes. */
function moved(item: Item, from: Scope, to: Scope): Item {
  const { pk, np, lp } = item;
  const renamed = (text: string) => text.replace(`${from.pipeline}#`, `${to.pipeline}#`);
  return {
    ...item,
    pk: { S: renamed(pk?.S ?? "") },
    ...(np?.S !== undefined && { np: { S: renamed(np.S) } }),
    ...(lp?.S !== undefined && { lp: { S: renamed(lp.S) } }),
  };
}

/** An item is in the lists in which its record belongs, and in no others. */
function checkLists(scope: Scope, key: RecordKey, item: Item | undefined): void {
  const { record, input, log } = fromRecordItem(item);
  if (item === undefined || record.kind === "absent" || input === null) return;
  const stored = Object.fromEntries(
    Object.entries(item).filter(([name]) => LISTED.includes(name as (typeof LISTED)[number])),
  );
  expect(stored).toEqual(listAttributes(scope, key, { record, input, log }));
}

function leftIn([a, b, object, note, run]: readonly (Item | undefined)[]): unknown[] {
  const live = liveNote(fromNoteItem(NOTE.kind, note).note, NOW);
  const liveRow = liveRun(fromRunItem(run), NOW);
  return [
    shown(A, a),
    shown(B, b),
    liveObject(fromObjectItem(object).object, NOW) ?? undefined,
    live === null ? undefined : noteOf(live),
    liveRow === null ? undefined : runOf(liveRow),
  ];
}

function shown(key: RecordKey, item: Item | undefined): unknown {
  const stored = fromRecordItem(item);
  const record = liveRecord(stored.record, NOW);
  if (record.kind === "absent") return undefined;
  return { key, record, input: stored.input, entries: decodeEntries(stored.log) };
}
