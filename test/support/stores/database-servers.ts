// Database servers: what a file of tests starts for itself and stops behind its last test.
//   S1. A server that cannot be had is told of by a test of its own; those that need it are left
//       out by `available`.
//   S2. Servers are stopped after all that was registered later, such as the closing of stores.

import pg from "pg";
import { afterAll } from "vitest";
import { startDynamoLocal } from "../../../scripts/dynamodb-local.ts";
import { reportMissing } from "../requires.ts";
import { startPostgres } from "./postgres-server.ts";

export interface TestPostgres {
  readonly available: boolean;
  readonly url: string;
  /** A URL whose tables are its own, in a schema that is new. */
  freshUrl(): Promise<string>;
}

/** Without syncs, unless settings are given: no test of a file cuts the power. */
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
  /** As `optionsFor`, for a table that nobody has had. */
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
