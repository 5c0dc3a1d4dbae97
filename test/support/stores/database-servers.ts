// Database servers: servers that a test file starts for itself and stops after its last test, and
// the DynamoDB Local that files share.
//   S1. If a server is unavailable, one test of its own reports it; `available` skips the tests
//       that need it.
//   S2. Servers stop after everything registered later, such as closing the stores.
//   S3. Files that share a server use different tables: a new table has the process id in its name.

import pg from "pg";
import { afterAll, inject } from "vitest";
import { startDynamoLocal } from "../../../scripts/dynamodb-local.ts";
import type { LocalServer, Missing } from "../../../scripts/local-server.ts";
import { type DurationMs, durationMs } from "../../../src/core/units.ts";
import { patienceMs } from "../patience.ts";
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
  /** Where a new table is. */
  freshOptions(): {
    readonly table: string;
    readonly region: string;
    readonly endpoint: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
    readonly requestMsMax: DurationMs;
  };
}

/** The DynamoDB Local of the run (shared-servers.ts). */
export async function useDynamo(): Promise<TestDynamo> {
  const response = await fetch(inject("dynamoDesk"));
  return testDynamo((await response.json()) as Pick<LocalServer, "endpoint"> | Missing);
}

/** A DynamoDB Local of this file, for tests whose table names are given. */
export async function useOwnDynamo(): Promise<TestDynamo> {
  const local = await startDynamoLocal();
  if ("stop" in local) afterAll(() => local.stop());
  return testDynamo(local);
}

function testDynamo(local: Pick<LocalServer, "endpoint"> | Missing): TestDynamo {
  if ("missing" in local) reportMissing("DynamoDB Local", local.missing);
  const endpoint = "endpoint" in local ? local.endpoint : "";
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const requestMsMax = durationMs(patienceMs(20_000)); // The server shares this machine.
  const connection = { region: "eu-west-1", endpoint, credentials, requestMsMax };
  let tables = 0;
  return {
    available: "endpoint" in local,
    endpoint,
    freshOptions: () => ({ table: `table-${process.pid}-${++tables}`, ...connection }), // S3
  };
}
