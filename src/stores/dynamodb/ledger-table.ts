// The ledger's table: one partition key, billed per request. Records, objects, notes, runs and the
// schema version are items in it, distinguished by a key prefix.
//   Y1. Only notes and runs have the two attributes of the index `notes`, so records and objects
//       are not in it and cost nothing. It contains keys only, so an item pays for it when it is
//       created and not when it changes.
//   Y2. The indexes of listed records exist only in a table that was created for listing. Each
//       orders by one attribute, and a record without that attribute is not in it. All of them
//       share the partitions of list-items.ts.

import type {
  AttributeDefinition,
  CreateTableCommandInput,
  GlobalSecondaryIndex,
} from "@aws-sdk/client-dynamodb";
import type { RecordOrder } from "../../ports/ledger.ts";

export const NOTE_INDEX = "notes";

/** The attribute that orders each list (Y2). */
export const LIST_ATTRIBUTES = {
  "event-time": "lev",
  "commit-time": "lco",
  object: "lob",
} as const satisfies Record<RecordOrder, string>;

/** The index of each list. */
export const LIST_INDEXES = {
  "event-time": "records-by-event-time",
  "commit-time": "records-by-commit-time",
  object: "records-by-object",
} as const satisfies Record<RecordOrder, string>;

const LISTS = Object.keys(LIST_INDEXES) as RecordOrder[];

function text(name: string): AttributeDefinition {
  return { AttributeName: name, AttributeType: "S" };
}

function index(IndexName: string, hash: string, range: string): GlobalSecondaryIndex {
  return {
    IndexName,
    KeySchema: [
      { AttributeName: hash, KeyType: "HASH" },
      { AttributeName: range, KeyType: "RANGE" },
    ],
    Projection: { ProjectionType: "KEYS_ONLY" },
  };
}

export function ledgerTable(
  table: string,
  { listing }: { readonly listing: boolean },
): CreateTableCommandInput {
  const lists = listing ? LISTS : [];
  const indexes = lists.map((by) => index(LIST_INDEXES[by], "lp", LIST_ATTRIBUTES[by]));
  const attributes = ["pk", "np", "nm", ...lists.map((by) => LIST_ATTRIBUTES[by])];
  if (listing) attributes.push("lp");
  return {
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: attributes.map(text),
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
    GlobalSecondaryIndexes: [index(NOTE_INDEX, "np", "nm"), ...indexes],
  };
}
