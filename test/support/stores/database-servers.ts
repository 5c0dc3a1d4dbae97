// Database servers: servers that a test file starts for itself and stops after its last test.
//   S1. If a server is unavailable, one test of its own reports it; `available` skips the tests
//       that need it.
//   S2. Servers stop after everything registered later, such as closing the stores.

import pg from "pg";
import { afterAll } from "vitest";
import { startDynamoLocal } from "../../../scripts/dynamodb-local.ts";
import { reportMissing } from "../requires.ts";
import { startPostgres } from "./postgres-server.ts";

export interface TestPostgres {
  readonly available: boolean;
  readonly url: string;
  /** A URL with its own tables, in a new schema. */
  freshUrl(): Promise<string>;
}

/** Without syncs by default: no test cuts the power. */
export async function usePostgres(
  settings: Readonly<Record<string, string>> = { fsync: "off" },
): Promise<TestPostgres> {
  const server = await startPostgres(settings);
  if ("missing" in server) reportMissing("PostgreSQL", server.missing);
  else afterAll(() => server.stop());
  const url = "url" in server ? server.url : "";
  let schemas = 0;
  return {
    available: "url" in server,
    url,
    async freshUrl() {
      schemas += 1;
      await queryPostgres(url, `CREATE SCHEMA s${schemas}`);
      return `${url}?options=-csearch_path%3Ds${schemas}`;
    },
  };
}

/** The rows of a statement, on a connection of its own. */
export async function queryPostgres(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

export interface TestDynamo {
  readonly available: boolean;
  readonly endpoint: string;
  /** Where a table of that name is. */
  optionsFor(table: string): {
    readonly table: string;
    readonly region: string;
    readonly endpoint: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Like `optionsFor`, for a new table. */
  freshOptions(): ReturnType<TestDynamo["optionsFor"]>;
}

export async function useDynamo(): Promise<TestDynamo> {
  const local = await startDynamoLocal();
  if ("missing" in local) reportMissing("DynamoDB Local", local.missing);
  else afterAll(() => local.stop());
  const endpoint = "endpoint" in local ? local.endpoint : "";
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const optionsFor = (table: string) => ({ table, region: "eu-west-1", endpoint, credentials });
  let tables = 0;
  return {
    available: "endpoint" in local,
    endpoint,
    optionsFor,
    freshOptions: () => optionsFor(`table-${++tables}`),
  };
}
