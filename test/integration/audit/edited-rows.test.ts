// Edits of tables and of their bookkeeping: each is found by an audit that compares rows.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Statement } from "../../../src/operate/audits.ts";
import { type CorruptionWorld, createCorruptionWorld } from "../../support/corruption-world.ts";
import { audit } from "../../support/operated.ts";
import { queryPostgres, usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("edited-rows");
const postgres = await usePostgres();

const OWNED = (key: string) => `SELECT id FROM tidegate_sink_writers WHERE table_name = 'item'
  AND object = 's3://shop/${key}'`;
const EDITS: Readonly<Record<string, string>> = {
  "a row that was deleted": "DELETE FROM item WHERE id = '4'",
  "all rows that were deleted": "DELETE FROM item",
  "all rows of another table that were deleted": "DELETE FROM total",
  "a row and its owner that were deleted": `DELETE FROM item WHERE id = '4';
    DELETE FROM _tg_item WHERE id = '4'`,
  "rows and bookkeeping that were deleted": `DELETE FROM item; DELETE FROM _tg_item;
    DELETE FROM _tg_item_others`,
  "everything that was deleted": `DELETE FROM item; DELETE FROM _tg_item; DELETE FROM total;
    DELETE FROM _tg_item_others; DELETE FROM _tg_total; DELETE FROM _tg_total_others`,
  "a whole number that was changed": "UPDATE item SET amount = 12 WHERE id = '1'",
  "a real number that was changed": "UPDATE item SET price = price + 0.25 WHERE id = '1'",
  "a real number that was changed in its last bit": `UPDATE item
    SET price = 1.2500000000000002 WHERE id = '1'`,
  "a JSON value that was changed": `UPDATE item SET note = '{"note":"X"}' WHERE id = '1'`,
  "a value that was emptied": "UPDATE item SET amount = NULL WHERE id = '1'",
  "a key that was changed": "UPDATE item SET id = '44' WHERE id = '4'",
  "two values that were swapped": `UPDATE item SET amount = CASE id WHEN '1' THEN 50 ELSE 11 END
    WHERE id IN ('1', '5')`,
  "a row that was added": "INSERT INTO item (id, amount) VALUES ('x', 1)",
  "a row that was added with an owner": `INSERT INTO item (id, amount) VALUES ('x', 1);
    INSERT INTO _tg_item SELECT 'x', _tg_writer, _tg_time, _tg_tie, _tg_fence, _tg_deleted,
    _tg_open FROM _tg_item WHERE id = '4'`,
  "a row of an unknown owner": "UPDATE _tg_item SET _tg_writer = 999 WHERE id = '4'",
  "a row that got the owner of another": `UPDATE _tg_item SET _tg_writer = (${OWNED("a.csv")})
    WHERE id = '4'`,
  "a row that was marked as deleted": "UPDATE _tg_item SET _tg_deleted = true WHERE id = '4'",
  "an owner whose rank was lowered": "UPDATE _tg_item SET _tg_time = 0 WHERE id = '3'",
  "an owner that was left open": "UPDATE _tg_item SET _tg_open = true WHERE id = '3'",
  "a loser that was deleted": "DELETE FROM _tg_item_others",
  "a loser that was changed": "UPDATE _tg_item_others SET amount = '77'",
  "a loser that got another owner": "UPDATE _tg_item_others SET _tg_writer = 999",
  "a loser whose rank was raised": "UPDATE _tg_item_others SET _tg_time = 9999999999999",
  "a count in the register that was changed": `UPDATE tidegate_sink_writers SET row_count = 9
    WHERE object LIKE '%b.csv'`,
  "a digest in the register that was changed": `UPDATE tidegate_sink_writers
    SET row_digest = replace(row_digest, substr(row_digest, 1, 1), 'z')
    WHERE object LIKE '%b.csv'`,
  "an object that was removed from the register": `DELETE FROM tidegate_sink_writers
    WHERE object LIKE '%b.csv'`,
  "an object that was renamed in the register": `UPDATE tidegate_sink_writers
    SET object = 's3://shop/c.csv' WHERE object LIKE '%b.csv'`,
  "a record that was renamed in the register": `UPDATE tidegate_sink_writers
    SET record_key = 'k1:00' WHERE object LIKE '%b.csv'`,
};

function compared({ settings, spec }: CorruptionWorld, ledger: string): Promise<Statement> {
  return audit(spec, { ...settings, ledger }, { graceMs: 0, rows: true });
}

function findings({ rows, exceptions }: Statement): unknown[] {
  const wrong = exceptions.filter(({ status }) => ["missing", "orphan"].includes(status));
  return [...(rows ?? []).flatMap((check) => check.findings), ...wrong];
}

describe("in SQLite", () => {
  const path = join(folder, "ledger.db");
  let world: CorruptionWorld;
  let copies = 0;
  beforeAll(async () => {
    world = await createCorruptionWorld(`sqlite:${path}`);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("tables that were not edited are as committed", async () => {
    const statement = await compared(world, `sqlite:${path}`);
    expect(findings(statement)).toEqual([]);
    expect(statement).toMatchObject({
      verdict: "accounted",
      rows: [
        { table: "item", rows: 7, digested: 3, undigested: 1 },
        { table: "total", rows: 4, digested: 3, undigested: 1 },
      ],
    });
  });

  test.each(Object.entries(EDITS))("%s is found", async (_, sql) => {
    copies += 1;
    const copy = join(folder, `copy-${copies}.db`);
    copyFileSync(path, copy);
    const db = new DatabaseSync(copy);
    db.exec(sql);
    db.close();
    const statement = await compared(world, `sqlite:${copy}`);
    expect(findings(statement)).not.toEqual([]);
    expect(statement.verdict).toBe("incomplete");
  });
});

describe.skipIf(!postgres.available)("in PostgreSQL", () => {
  let world: CorruptionWorld;
  const base = new URL(postgres.url || "postgres://x/x");
  const at = (name: string) => {
    const url = new URL(base);
    url.pathname = `/${name}`;
    return url.href;
  };
  let copies = 0;
  beforeAll(async () => {
    await queryPostgres(postgres.url, "CREATE DATABASE corrupted");
    world = await createCorruptionWorld(at("corrupted"));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("tables that were not edited are as committed", async () => {
    const statement = await compared(world, at("corrupted"));
    expect(findings(statement)).toEqual([]);
    expect(statement.rows).toMatchObject([
      { rows: 7, undigested: 1 },
      { rows: 4, undigested: 1 },
    ]);
  });

  test.each(Object.entries(EDITS))("%s is found", async (_, sql) => {
    copies += 1;
    const name = `copy_${copies}`;
    await queryPostgres(postgres.url, `CREATE DATABASE ${name} TEMPLATE corrupted`);
    await queryPostgres(at(name), sql);
    const statement = await compared(world, at(name));
    expect(findings(statement)).not.toEqual([]);
  });
});
