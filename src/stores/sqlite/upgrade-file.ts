// Upgrade file: brings a ledger or an outbox in a SQLite file to the schema of this release, when
// it is opened for writing (decision record 0032).
//   U1. Before the first step, the whole file is copied into a backup beside it, which is complete
//       and synced before it gets its name. Others read and write meanwhile.
//   U2. Each step is one transaction with its number. Several processes may upgrade at once: each
//       makes a draft of the backup, and a step that another one has done is skipped. A draft may
//       be of the schema after such a step; then it is dropped, and the other one's backup stays.
//   U3. A draft that a killed process left is removed after the last step.
//   U4. A backup is of the schema in its name. A newer file names it to a release that needs it.

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { judgeSchema, pendingSteps, type SchemaUpgrade } from "../../ledger/schema-version.ts";
import { Checkpoints } from "./checkpoints.ts";
import { sqliteLedgerFault } from "./ledger/faults.ts";
import { openReadOnly } from "./ledger/open-read-only.ts";
import {
  refuseOtherVersion,
  SQLITE_LEDGER,
  SQLITE_OUTBOX,
  type SqliteSchema,
  saveSchema,
  schemaInFile,
} from "./ledger/schema.ts";
import { inSqliteTransaction } from "./ledger/transaction.ts";
import { creatingTables, openForWriting, orClosed } from "./open-file.ts";
import { renewShared, warnOfRenewal } from "./renew-log.ts";
import { behindLinks, DRAFT_SUFFIX, putInPlace, removeDraft, syncPath } from "./replace-file.ts";

/** Ends the name of a backup. */
export const UPGRADE_BACKUP_SUFFIX = ".backup";
/** How long an upgrade waits for the step of another process. */
const UPGRADE_BUSY_MS = 120_000;

/** Upgrades ledger and outbox of a file; with `dryRun`, says what it would do. */
export function upgradeSqlite(path: string, { dryRun }: { readonly dryRun: boolean }) {
  const upgrades: SchemaUpgrade[] = [];
  for (const schema of [SQLITE_LEDGER, SQLITE_OUTBOX]) {
    const upgrade = asFault(path, () => lookForUpgrade(path, schema));
    if (upgrade === null) continue;
    upgrades.push(upgrade);
    if (!dryRun) asFault(path, () => upgradeClosed(path, schema));
  }
  return upgrades;
}

function asFault<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteLedgerFault(error, path);
  }
}

function lookForUpgrade(path: string, schema: SqliteSchema): SchemaUpgrade | null {
  const db = openReadOnly(path, UPGRADE_BUSY_MS);
  try {
    return planUpgrade(db, schema);
  } finally {
    db.close();
  }
}

function upgradeClosed(path: string, schema: SqliteSchema): void {
  renewShared(path); // Q3 of ledger/ledger.ts
  const db = openForWriting(path, UPGRADE_BUSY_MS);
  orClosed(db, path, () =>
    creatingTables(db, path, () => {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      upgradeFile(db, path, schema, { busyMs: UPGRADE_BUSY_MS });
    }),
  );
  new Checkpoints(db, { path, pages: 1 }).close();
}

/** What an upgrade of the file would do; null if it needs none. */
function planUpgrade(db: DatabaseSync, schema: SqliteSchema): SchemaUpgrade | null {
  const { part, version: to, steps } = schema;
  const stored = schemaInFile(db, part);
  if (stored === null || judgeSchema(stored, schema, "write") !== "outdated") return null;
  const { version: from } = stored;
  return { part, from, to, sql: pendingSteps(steps, from).map(({ sql }) => sql.trim()) };
}

/** Upgrades the part in the open file, unless it is of this schema or missing. */
export function upgradeFile(
  db: DatabaseSync,
  path: string,
  schema: SqliteSchema,
  { busyMs }: { readonly busyMs: number },
): void {
  const plan = planUpgrade(db, schema);
  if (plan === null) return;
  const { part, from, to } = plan;
  db.exec(`PRAGMA busy_timeout = ${UPGRADE_BUSY_MS}`);
  try {
    const backup = backupBefore(db, path, plan);
    warnOfRenewal(
      `the ${part} in ${path} is upgraded from schema ${from} to ${to}; its backup is ${backup}`,
    );
    for (const step of pendingSteps(schema.steps, from)) runStep(db, schema, step);
    removeBackupDrafts(path); // U3
  } catch (error) {
    if (planUpgrade(db, schema) === null) return; // U2: another process has come first.
    const message =
      `the ${part} in ${path} has schema ${from} and could not be upgraded to schema ${to}: ` +
      `${reasonOf(error)}; nothing is lost, and the next start continues`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  } finally {
    db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  }
}

function runStep(
  db: DatabaseSync,
  { part }: SqliteSchema,
  { to, sql, ...limits }: SqliteSchema["steps"][number],
): void {
  inSqliteTransaction(db, () => {
    if ((schemaInFile(db, part)?.version ?? 0) >= to) return; // U2
    db.exec(sql);
    saveSchema(db, part, { version: to, ...limits });
  });
}

/** U1. A later attempt replaces the backup of an earlier one, which older writers have outrun. */
function backupBefore(db: DatabaseSync, named: string, { part, from }: SchemaUpgrade): string {
  const path = behindLinks(named);
  const backup = backupPath(path, part, from);
  const draft = `${backup}.${process.pid}${DRAFT_SUFFIX}`;
  removeDraft(draft);
  try {
    db.prepare("VACUUM INTO ?").run(draft);
    // The draft is of this schema if the file still is: a version only grows.
    if (schemaInFile(db, part)?.version !== from)
      removeDraft(draft); // U2
    else {
      syncPath(draft);
      putInPlace(draft, backup);
    }
  } catch (error) {
    removeDraft(draft);
    throw error;
  }
  return backup;
}

function backupPath(path: string, part: string, version: number): string {
  return `${path}.${part}-${version}${UPGRADE_BACKUP_SUFFIX}`;
}

/** U3 */
function removeBackupDrafts(named: string): void {
  const path = behindLinks(named);
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    const isDraft = name.endsWith(DRAFT_SUFFIX) && name.includes(`${UPGRADE_BACKUP_SUFFIX}.`);
    if (name.startsWith(`${basename(path)}.`) && isDraft) removeDraft(join(folder, name));
  }
}

/** As `refuseOtherVersion`, and names the backup that this release can use (U4). */
export function requireUpgradable(path: string, schema: SqliteSchema, busyMs: number): void {
  try {
    refuseOtherVersion(path, schema, busyMs);
  } catch (error) {
    throw withBackup(error, path, schema);
  }
}

/** The error of a file that is too new, with the command that restores its backup. */
export function withBackup(error: unknown, named: string, schema: SqliteSchema): unknown {
  if (!(error instanceof TidegateError) || error.code !== "TG_STORE_NEWER") return error;
  const path = behindLinks(named);
  for (let version = schema.version; version >= schema.oldest; version -= 1) {
    const backup = backupPath(path, schema.part, version);
    if (!existsSync(backup)) continue;
    const restore = `rm -f ${quote(`${path}-wal`)} ${quote(`${path}-shm`)}; cp ${quote(backup)} ${quote(path)}`;
    const message =
      `${error.message}. To go back to the state before the upgrade, stop every process that ` +
      `uses the file, then run: ${restore}`;
    return new TidegateError("TG_STORE_NEWER", message);
  }
  return error;
}

function quote(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
