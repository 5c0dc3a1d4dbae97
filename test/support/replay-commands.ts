// Replay commands: the commands of a pipeline whose ledger and bucket are anywhere, and the live
// rows of its table `orders`.

import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { endOf, startCommand } from "./command-process.ts";
import { queryPostgres } from "./stores/database-servers.ts";

export const ANY_CREDENTIALS = { accessKeyId: "any", secretAccessKey: "any" };
export const ANY_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "any",
  AWS_SECRET_ACCESS_KEY: "any",
  AWS_REGION: "us-east-1",
};

/** Where a pipeline runs, and what it wrote. */
export interface ReplayStores {
  readonly endpoint: string;
  /** Of the pipeline, and of its bucket or queue. */
  readonly name: string;
  /** The flags that name ledger and tables. */
  readonly location: readonly string[];
  /** The live rows, as `id=amount`. */
  rows(): Promise<string[]>;
}

/** Starts commands, and runs them to their end with `--json`. */
export function replayCommands({
  endpoint,
  location,
}: Pick<ReplayStores, "endpoint" | "location">) {
  const start = (words: readonly string[]) =>
    startCommand([...words, ...location, "--endpoint", endpoint], { env: ANY_ENVIRONMENT });
  return {
    start,
    async cli(...words: string[]) {
      const { code, out, err } = await endOf(start([...words, "--json"]));
      const lines = out.split("\n").filter((line) => line.startsWith("{"));
      return { code, err, lines: lines.map((line) => JSON.parse(line)) };
    },
  };
}

const ORDERS = "SELECT id, amount FROM orders ORDER BY id";

export function sqliteOrders(path: string): ReplayStores["rows"] {
  return async () => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db.prepare(ORDERS).all();
    db.close();
    return rows.map(({ id, amount }) => `${id}=${amount}`);
  };
}

export function postgresOrders(url: string): ReplayStores["rows"] {
  return async () => {
    const rows = await queryPostgres(url, ORDERS);
    return rows.map(({ id, amount }) => `${id}=${amount}`);
  };
}

/** Creates a table that can list records, and returns the URL of its ledger. */
export async function createDynamoLedger(name: string, endpoint: string): Promise<string> {
  const ledger = `dynamodb://${name}?region=us-east-1&endpoint=${endpoint}`;
  const words = ["ledger", "init", "--listing", "--ledger", ledger];
  const { code, err } = await endOf(startCommand(words, { env: ANY_ENVIRONMENT }));
  expect([code, err]).toEqual([0, ""]);
  return ledger;
}
