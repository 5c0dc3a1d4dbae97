// Note rows: the rule of ledger/notes.ts as one statement. Many processes may add to a note at
// once, and none waits for a round trip of another.

import type { Pool, PoolClient } from "pg";
import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import type { DurationMs } from "../../core/units.ts";
import { epochMs } from "../../core/units.ts";
import type { NoteStore } from "../../ledger/note-calls.ts";
import { noteExpiry, type StoredNote } from "../../ledger/notes.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { NoteInput, NoteKind } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { ServerTime } from "./server-time.ts";
import { retryBusy } from "./sql/sql-limits.ts";
import { type LockLimit, ownLockLimit } from "./time-limits.ts";
import { retryConflicts } from "./transaction.ts";

const COLUMNS = "kind, name, at, count, body, expires_at";

/** The rule: counts of a live note ($8 is the expiry) add up, and the newer body stays. */
const addSql = (limit: LockLimit) => `
  ${limit.with} INSERT INTO tidegate_ledger_note AS n (scope, ${COLUMNS})
  SELECT $1::integer, u.*
  FROM ${limit.from}
    unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) AS u
  ON CONFLICT (scope, kind, name) DO UPDATE SET
    count = excluded.count + CASE WHEN n.expires_at > $8::bigint THEN n.count ELSE 0 END,
    at = CASE WHEN n.expires_at > $8::bigint AND n.at > excluded.at
      THEN n.at ELSE excluded.at END,
    body = CASE WHEN n.expires_at > $8::bigint AND n.at > excluded.at
      THEN n.body ELSE excluded.body END,
    expires_at = excluded.expires_at`;

/** Adds to notes of different names, within a transaction or as its own. */
export async function addNotes(
  client: Pool | PoolClient,
  scopeId: number,
  notes: readonly NoteInput[],
  options: LedgerInstant & {
    readonly retentionMs: DurationMs;
    readonly limit: LockLimit;
  },
): Promise<void> {
  if (notes.length === 0) return;
  const { now, expiry, retentionMs, limit } = options;
  // Locks rows in this order, so that two batches wait for each other in one direction.
  const sorted = notes.toSorted(
    (a, b) => compareUtf8(a.kind, b.kind) || compareUtf8(a.name, b.name),
  );
  const pick = (name: keyof NoteInput) => sorted.map((note) => note[name]);
  await client.query({
    name: `tidegate-add-notes${limit.suffix}`,
    text: addSql(limit),
    values: [
      scopeId,
      pick("kind"),
      pick("name"),
      pick("at"),
      pick("count"),
      pick("body"),
      sorted.map(({ kind }) => noteExpiry(kind, { now, retentionMs })),
      expiry,
    ],
  });
}

interface NoteRow {
  readonly kind: NoteKind;
  readonly name: string;
  readonly at: string;
  readonly count: string;
  readonly body: string;
  readonly expires_at: string;
}

function fromRow({ kind, name, at, count, body, expires_at }: NoteRow): StoredNote {
  const expiresAt = epochMs(Number(expires_at));
  return { kind, name, at: epochMs(Number(at)), count: Number(count), body, expiresAt };
}

export interface PostgresNoteParts {
  readonly pool: Pool;
  readonly server: ServerTime;
  readonly retentionMs: DurationMs;
  scopeIdOf(scope: LedgerScope): Promise<number>;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

export function createPostgresNoteStore(parts: PostgresNoteParts): NoteStore {
  const { pool, server, retentionMs, scopeIdOf, guard } = parts;
  return {
    add: (scope, notes) =>
      guard(async () => {
        const scopeId = await scopeIdOf(scope);
        const at = await server.readToWrite();
        const options = { ...at, retentionMs, limit: ownLockLimit(pool) };
        await retryBusy(() =>
          retryConflicts("note", () => addNotes(pool, scopeId, notes, options)),
        );
      }),
    find: (scope, kind, name) =>
      guard(async () => {
        const { expiry } = await server.read();
        const { rows } = await pool.query<NoteRow>({
          name: "tidegate-find-note",
          text: `SELECT ${COLUMNS} FROM tidegate_ledger_note
            WHERE scope = $1 AND kind = $2 AND name = $3 AND expires_at > $4`,
          values: [await scopeIdOf(scope), kind, name, expiry],
        });
        return rows[0] === undefined ? null : fromRow(rows[0]);
      }),
    list: (scope, kind, { after, limit }) =>
      guard(async () => {
        const { expiry } = await server.read();
        // No name is empty, so every name sorts after the empty string.
        const { rows } = await pool.query<NoteRow>({
          name: "tidegate-list-notes",
          text: `SELECT ${COLUMNS} FROM tidegate_ledger_note
            WHERE scope = $1 AND kind = $2 AND name > $3 AND expires_at > $4
            ORDER BY name LIMIT $5`,
          values: [await scopeIdOf(scope), kind, after ?? "", expiry, limit],
        });
        return rows.map(fromRow);
      }),
    remove: (scope, kind, names) =>
      guard(async () => {
        const values = [await scopeIdOf(scope), kind, names];
        const text = `${ownLockLimit(pool).with} DELETE FROM tidegate_ledger_note USING lock_limit
          WHERE scope = $1 AND kind = $2 AND name = ANY ($3::text[])`;
        await retryBusy(() =>
          retryConflicts("note", () => pool.query({ name: "tidegate-remove-notes", text, values })),
        );
      }),
  };
}
