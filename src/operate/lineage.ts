// Lineage: what a run read and wrote, and where a row or an object came from, from the ledger.

import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { refuseConfig } from "../core/errors.ts";
import type { LineageFacts } from "../lineage/lineage-facts.ts";
import { type LineageFormat, renderLineage } from "../lineage/merge-documents.ts";
import { outputLocations } from "../lineage/recorded/output-locations.ts";
import { factsOfRun, findRecordedRun, type LocationOf } from "../lineage/recorded/recorded-run.ts";
import type { LedgerScope } from "../ports/record.ts";
import { factsOfObject, factsOfOutput, factsOfRecord } from "./lineage/recorded-facts.ts";
import { findRowOrigin, type OwnedRow, rowsOfObject } from "./lineage/row-lineage.ts";
import type { Sources } from "./sources.ts";

export type { LineageFormat } from "../lineage/merge-documents.ts";
export type { OwnedRow } from "./lineage/row-lineage.ts";

/** A document, or a sentence that says why there is none. */
export type LineageAnswer =
  | { readonly kind: "found"; readonly document: JsonValue }
  | { readonly kind: "missing"; readonly reason: string };

/** Lineage of runs, objects, tables and rows. */
export interface LineageReader {
  /** About a run, `s3://bucket/key`, a table, or `table:key` of a row. Default: as PROV. */
  document(what: string, format?: LineageFormat): Promise<LineageAnswer>;
  /** The rows that an object owns: `s3://bucket/key`. */
  rows(object: string): AsyncIterable<OwnedRow>;
}

const OBJECT_URL = /^s3:\/\/([^/]+)\/(.+)$/s;
const TABLE_ROW = /^([^:/]+):(.+)$/s;

export function lineageOf(sources: Sources): LineageReader {
  return {
    async document(what, format = "prov") {
      const facts = await factsAbout(sources, what);
      return typeof facts === "string"
        ? { kind: "missing", reason: facts }
        : { kind: "found", document: renderLineage(format, facts) };
    },
    async *rows(what) {
      const object = objectOf(what);
      if (object === null) {
        refuseConfig(`${what} is not an object; its rows need s3://bucket/key`);
      }
      yield* rowsOfObject(await sources.reader(), object);
    },
  };
}

/** Where the outputs of a pipeline are; without its file, columns are not known. */
export async function locationsOf(sources: Sources): Promise<LocationOf> {
  return outputLocations(await sources.pipeline(), sources.ledgerUrl);
}

function objectOf(what: string) {
  const [, bucket, key] = OBJECT_URL.exec(what) ?? [];
  return bucket === undefined || key === undefined ? null : { bucket, key };
}

/** The facts about what the text names, or a sentence that says why there are none. */
async function factsAbout(sources: Sources, what: string): Promise<LineageFacts[] | string> {
  const locationOf = await locationsOf(sources);
  const [ledger, scopes] = [await sources.reader(), await sources.generations()];
  const inScopes = async (factsIn: (scope: LedgerScope) => Promise<LineageFacts[]>) =>
    (await Promise.all(scopes.map(factsIn))).flat();
  const object = objectOf(what);
  if (object !== null) {
    const facts = await inScopes((scope) => factsOfObject(ledger, scope, object, locationOf));
    return facts.length > 0 ? facts : `The ledger has no committed record of ${what}.`;
  }
  if (what.startsWith("s3://")) return `${what} names no object; write s3://bucket/key.`;
  const run = await findRecordedRun(ledger, scopes, what);
  if (run !== null) return [await factsOfRun(ledger, run, locationOf)];
  if (TABLE_ROW.test(what)) return factsOfRow(sources, what, locationOf);
  const facts = await inScopes((scope) => factsOfOutput(ledger, scope, what, locationOf));
  if (facts.length > 0) return facts;
  return `The ledger has no run ${what}, and no run wrote to a table of that name; see runs list.`;
}

/** The facts of the record that wrote a row. */
async function factsOfRow(
  sources: Sources,
  what: string,
  locationOf: LocationOf,
): Promise<LineageFacts[] | string> {
  const [ledger, scopes] = [await sources.reader(), await sources.generations()];
  const [, table = "", text = ""] = TABLE_ROW.exec(what) ?? [];
  const row = await findRowOrigin(ledger, scopes, table, keyOf(text));
  if (row.kind === "no-table") return `The ledger's database has no table ${table} of a pipeline.`;
  if (row.kind === "no-row") return `The table ${table} has no visible row with the key ${text}.`;
  if (row.origin !== null) return [await factsOfRecord(ledger, row.origin, locationOf)];
  return `The row ${what} exists, but the ledger no longer has the record that wrote it.`;
}

/** A key of one column as it is, one of several columns as a JSON array. */
function keyOf(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.map(String) : [text];
  } catch {
    return [text];
  }
}
