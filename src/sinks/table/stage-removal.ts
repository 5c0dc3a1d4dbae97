// Stage removal: the stages of attempts that are over (S3 of stage.ts). A removed stage can only
// fail the merge of its attempt, never change its rows.

import type { SinkWrite } from "../../core/sink-write.ts";
import type { EpochMs } from "../../core/units.ts";
import type { SinkStore, StagedRowsRequest } from "../../ports/sink.ts";
import type { Dialect } from "./databases/dialect.ts";
import { stagesTable } from "./layout.ts";
import { STAGES_TABLE } from "./names.ts";

/** Rows that one transaction removes from a stage in SQLite (S4 of stage.ts). */
const REMOVE_ROWS = 20_000;

/** Removes the stages of attempts that this one replaces. */
export async function removeEarlier(
  dialect: Dialect,
  store: SinkStore,
  { key, fence }: StagedRowsRequest,
): Promise<void> {
  if (fence === null) return; // Another attempt may be alive, and neither has a fence.
  const [p1, p2] = [dialect.param(1, "text"), dialect.param(2, "integer")];
  const statement = `SELECT id, tables FROM ${stagesTable(dialect)}
    WHERE record_key = ${p1} AND fence < ${p2}`;
  await removeFound(dialect, store, { statement, params: [key, fence] });
}

/** Removes the stages whose attempt is over; returns how many. */
export function sweepTableStages(
  dialect: Dialect,
  store: SinkStore,
  now: EpochMs,
): Promise<number> {
  const statement = `SELECT id, tables FROM ${stagesTable(dialect)}
    WHERE expires_at < ${dialect.param(1, "integer")}`;
  return removeFound(dialect, store, { statement, params: [now] });
}

async function removeFound(dialect: Dialect, store: SinkStore, find: SinkWrite): Promise<number> {
  if (!(await hasStages(dialect, store))) return 0;
  const stages = await store.read(find);
  for (const { id, tables } of stages) {
    const relations: string[] = tables === "" ? [] : JSON.parse(String(tables));
    await removeStage(dialect, store, { id: String(id), relations });
  }
  return stages.length;
}

async function hasStages({ name }: Dialect, store: SinkStore): Promise<boolean> {
  const statement =
    name === "sqlite"
      ? `SELECT 1 FROM sqlite_temp_schema WHERE name = '${STAGES_TABLE}'`
      : `SELECT 1 WHERE to_regclass('${STAGES_TABLE}') IS NOT NULL`;
  return (await store.read({ statement, params: [] })).length > 0;
}

/** Idempotent: a stage that is half removed is listed until its last table is gone. */
export async function removeStage(
  dialect: Dialect,
  store: SinkStore,
  { id, relations }: { readonly id: string; readonly relations: readonly string[] },
): Promise<void> {
  if (dialect.name === "sqlite") {
    for (const relation of relations) await emptySqliteTable(store, relation);
  }
  const dropped = relations.map(
    (relation): SinkWrite => ({
      statement: `DROP TABLE IF EXISTS ${relation}`,
      params: [],
      once: true,
    }),
  );
  const statement = `DELETE FROM ${stagesTable(dialect)} WHERE id = ${dialect.param(1, "text")}`;
  await store.run([...dropped, { statement, params: [id] }]);
}

/** Dropping a full table holds the file's lock for as long as it is large (S4 of stage.ts). */
async function emptySqliteTable(store: SinkStore, relation: string): Promise<void> {
  const isThere = "SELECT 1 FROM sqlite_temp_schema WHERE name = ?";
  const name = relation.slice("temp.".length + 1, -1);
  if ((await store.read({ statement: isThere, params: [name] })).length === 0) return;
  for (;;) {
    const [last] = await store.read({
      statement: `SELECT max(rowid) AS last FROM (SELECT rowid FROM ${relation}
        ORDER BY rowid LIMIT ${REMOVE_ROWS})`,
      params: [],
    });
    if (last?.last == null) return;
    const statement = `DELETE FROM ${relation} WHERE rowid <= ?`;
    await store.run([{ statement, params: [Number(last.last)], once: true }]);
  }
}
