// PostgreSQL: a plain COPY in one transaction against the sink.

import pg from "pg";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { runPostgresWrites } from "../../src/stores/postgres/sql/sink-writes.ts";
import { clock, SPEC, type TableBench } from "./measure.ts";

const CHUNK_ROWS = 5_000;

export async function openPostgresBench(url: string): Promise<TableBench> {
  const ledger = await createPostgresLedger({ clock }, { url });
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`CREATE TABLE bare (id text NOT NULL PRIMARY KEY, customer text,
    total double precision, lines bigint)`);
  let analysed = false;
  const copy = async (text: string) => {
    const statement = "COPY bare (id, customer, total, lines) FROM STDIN";
    await runPostgresWrites(client, [{ statement, params: [], copy: text }], 0, () => undefined);
  };
  return {
    name: "PostgreSQL",
    bareName: "plain COPY",
    ledger,
    sink: createTableSink(SPEC, { dialect: "postgres", url }),
    async loadBare(rows) {
      await client.query("BEGIN");
      let text = "";
      let count = 0;
      for (const { id, customer, total, lines } of rows) {
        text += `${id}\t${customer}\t${total}\t${lines}\n`;
        count += 1;
        if (count % CHUNK_ROWS !== 0) continue;
        await copy(text);
        text = "";
      }
      if (text !== "") await copy(text);
      await client.query("COMMIT");
    },
    async sum(table) {
      if (!analysed) await client.query("VACUUM ANALYZE bare");
      if (!analysed) await client.query("VACUUM ANALYZE orders");
      analysed = true;
      await client.query(`SELECT sum(total) FROM ${table}`);
    },
    async close() {
      await client.end();
      await ledger.close();
    },
  };
}
