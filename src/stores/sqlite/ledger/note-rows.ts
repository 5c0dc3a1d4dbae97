// Note rows: reads and writes of notes; writes must run in a transaction.

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { DurationMs, EpochMs } from "../../../core/units.ts";
import { epochMs } from "../../../core/units.ts";
import type { NoteStore } from "../../../ledger/note-calls.ts";
import type { StoredNote } from "../../../ledger/notes.ts";
import { liveNote, mergeNote } from "../../../ledger/notes.ts";
import type { LedgerInstant, LedgerTime } from "../../../ledger/store-time.ts";
import type { NoteInput, NoteKind, NotePage } from "../../../ports/ledger.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordRows } from "./record-rows.ts";

const COLUMNS = "kind, name, at, count, body, expires_at AS expiresAt";

export class NoteRows {
  readonly #select: StatementSync;
  readonly #list: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#select = db.prepare(
      `SELECT ${COLUMNS} FROM ledger_note WHERE scope = ? AND kind = ? AND name = ?`,
    );
    // No name is empty, so every name sorts after the empty string.
    this.#list = db.prepare(`
      SELECT ${COLUMNS} FROM ledger_note
      WHERE scope = ? AND kind = ? AND name > ? AND expires_at > ? ORDER BY name LIMIT ?`);
    this.#put = db.prepare(`
      INSERT INTO ledger_note (scope, kind, name, at, count, body, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (scope, kind, name) DO UPDATE SET at = excluded.at, count = excluded.count,
        body = excluded.body, expires_at = excluded.expires_at`);
    this.#delete = db.prepare("DELETE FROM ledger_note WHERE scope = ? AND kind = ? AND name = ?");
  }

  /** The note with that name, expired or not. */
  find(scopeId: number, kind: NoteKind, name: string): StoredNote | null {
    const row = this.#select.get(scopeId, kind, name);
    return row === undefined ? null : fromRow(row);
  }

  list(scopeId: number, kind: NoteKind, { after, limit }: NotePage, now: EpochMs): StoredNote[] {
    return this.#list.all(scopeId, kind, after ?? "", now, limit).map(fromRow);
  }

  /** Adds to a note by the rule of ledger/notes.ts. */
  add(
    scopeId: number,
    note: NoteInput,
    time: LedgerInstant & { readonly retentionMs: DurationMs },
  ): void {
    const merged = mergeNote(this.find(scopeId, note.kind, note.name), note, time);
    const { kind, name, at, count, body, expiresAt } = merged;
    this.#put.run(scopeId, kind, name, at, count, body, expiresAt);
  }

  remove(scopeId: number, kind: NoteKind, name: string): void {
    this.#delete.run(scopeId, kind, name);
  }
}

function fromRow(row: Record<string, SQLOutputValue>): StoredNote {
  return {
    kind: row.kind as NoteKind,
    name: String(row.name),
    at: epochMs(Number(row.at)),
    count: Number(row.count),
    body: String(row.body),
    expiresAt: epochMs(Number(row.expiresAt)),
  };
}

export interface SqliteNoteParts {
  readonly notes: NoteRows;
  readonly rows: RecordRows;
  readonly group: GroupCommit;
  readonly time: LedgerTime;
  readonly retentionMs: DurationMs;
  look<T>(read: () => T): T;
}

/** Writes join the group's transaction. */
export function createSqliteNoteStore(parts: SqliteNoteParts): NoteStore {
  const { notes, rows, group, time, retentionMs, look } = parts;
  return {
    add: (scope, added) =>
      group.submit(
        () => {
          const at = { ...time.read(), retentionMs };
          const scopeId = rows.openScope(scope);
          for (const note of added) notes.add(scopeId, note, at);
        },
        { alone: false },
      ),
    async find(scope, kind, name) {
      return look(() => {
        const scopeId = rows.findScope(scope);
        return scopeId === null
          ? null
          : liveNote(notes.find(scopeId, kind, name), time.read().expiry);
      });
    },
    async list(scope, kind, page) {
      return look(() => {
        const scopeId = rows.findScope(scope);
        return scopeId === null ? [] : notes.list(scopeId, kind, page, time.read().expiry);
      });
    },
    remove: (scope, kind, names) =>
      group.submit(
        () => {
          const scopeId = rows.findScope(scope);
          if (scopeId !== null) for (const name of names) notes.remove(scopeId, kind, name);
        },
        { alone: false },
      ),
  };
}
