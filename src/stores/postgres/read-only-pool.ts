// Read-only pool: a pool whose queries run in read-only transactions, for tools that must not
// change anything. A transaction sets it, not the session, so it also works behind a pooler.

import type { Pool, PoolClient, QueryConfig, QueryResult } from "pg";

export function readOnlyPool(pool: Pool): Pool {
  const query = (config: string | QueryConfig, values?: unknown[]) => {
    const statement = typeof config === "string" ? { text: config, values: values ?? [] } : config;
    return queryReadOnly(pool, statement);
  };
  return new Proxy(pool, {
    get(target, name) {
      if (name === "query") return query;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

async function queryReadOnly(pool: Pool, statement: QueryConfig): Promise<QueryResult> {
  const client: PoolClient = await pool.connect();
  try {
    await client.query("BEGIN TRANSACTION READ ONLY");
    const result = await client.query(statement);
    await client.query("COMMIT");
    client.release();
    return result;
  } catch (error) {
    client.release(true); // Ends the transaction with its connection.
    throw error;
  }
}
