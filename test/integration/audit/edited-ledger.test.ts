// Edits of a ledger's rows, and records that somebody added: each is found by its check.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { type CorruptionWorld, createCorruptionWorld } from "../../support/corruption-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("edited-ledger");
const ledger = join(folder, "ledger.db");
let world: CorruptionWorld;
let copies = 0;

beforeAll(async () => {
  world = await createCorruptionWorld(`sqlite:${ledger}`);
});
afterAll(() => world[Symbol.asyncDispose]());

const ONE = "bucket = 'shop' AND object_key = 'b.csv'";
const PARKED = "object_key = 'poison.csv'";
/** Replaces a field of the input: [kind, eventId, [version, etag, size, sequencer], ...]. */
const edit = (path: string, value: string) =>
  `UPDATE ledger_record SET input = json_replace(input, '${path}', '${value}') WHERE ${ONE}`;
const COLUMNS = `scope, hash, rank, key, state, fence, attempts, seen_at, changed_at, expires_at,
  lease_until, owner, digest, detail, log, event_time, bucket, object_key, input`;

const EDITS: Readonly<Record<string, string>> = {
  "another bucket": `UPDATE ledger_record SET bucket = 'other' WHERE ${ONE}`,
  "another object": `UPDATE ledger_record SET object_key = 'c.csv' WHERE ${ONE}`,
  "another version": edit("$[2][0]", "v9"),
  "another sequencer": edit("$[2][3]", "00FF"),
  "another event": edit("$[1]", "00000000-0000-8000-8000-000000000000"),
  "another kind": edit("$[0]", "message"),
  "an unknown kind": edit("$[0]", "other"),
  "another key": `UPDATE ledger_record SET key = 'k1:' || substr(key, 4, 63) || 'x' WHERE ${ONE}`,
  "another pipeline": "UPDATE ledger_scope SET pipeline = 'other'",
  "another generation": "UPDATE ledger_scope SET generation = 7",
  "another time of the commit": `UPDATE ledger_record SET changed_at = changed_at - 5 WHERE ${ONE}`,
  "another fence": `UPDATE ledger_record SET fence = fence + 1 WHERE ${ONE}`,
  "a dead letter that is committed": `UPDATE ledger_record
    SET state = 'committed', digest = 'd', detail = NULL WHERE ${PARKED}`,
  "a commit that is released": `UPDATE ledger_record SET state = 'released' WHERE ${ONE}`,
  "a log without its end": `UPDATE ledger_record SET log = substr(log, 1, instr(log, char(10)))
    WHERE ${ONE}`,
  "an empty log": `UPDATE ledger_record SET log = '' WHERE ${ONE}`,
  "a log that is not a log": `UPDATE ledger_record SET log = 'x' WHERE ${ONE}`,
  "an input that is not an input": `UPDATE ledger_record SET input = '{}' WHERE ${ONE}`,
  "an unknown state": `UPDATE ledger_record SET state = 'done' WHERE ${ONE}`,
};

function edited(sql: string): string {
  copies += 1;
  const path = join(folder, `copy-${copies}.db`);
  copyFileSync(ledger, path);
  const db = new DatabaseSync(path);
  const { changes } = db.prepare(sql).run();
  db.close();
  expect(changes).not.toBe(0);
  return `sqlite:${path}`;
}

async function problemsOf(url: string): Promise<readonly string[]> {
  await using operator = openOperator({ ledger: url });
  return (await operator.ledger.check()).problems;
}

test("a ledger that was not edited is sound, with its dead letters and redriven rows", async () => {
  expect(await problemsOf(`sqlite:${ledger}`)).toEqual([]);
});

test.each(Object.entries(EDITS))("%s is found", async (_, sql) => {
  expect(await problemsOf(edited(sql))).not.toEqual([]);
});

test("a forged second record of an object is found", async () => {
  const key = "'k1:' || substr(key, 4, 60) || 'abcd'";
  const selected = COLUMNS.replace("rank, key", `rank, ${key}`);
  const url = edited(
    `INSERT INTO ledger_record (${COLUMNS}) SELECT ${selected} FROM ledger_record WHERE ${ONE}`,
  );
  expect(await problemsOf(url)).toEqual([expect.stringContaining("s3://shop/b.csv")]);
});
