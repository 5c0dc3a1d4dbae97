// Run rows: runs in their table, by the rule of ledger/runs.ts.

import type { DatabaseSync } from "node:sqlite";
import type { DurationMs } from "../../../core/units.ts";
import { fromRunColumns, mergeRun, type RunStore } from "../../../ledger/runs.ts";
import type { LedgerTime } from "../../../ledger/store-time.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordRows } from "./record-rows.ts";

export interface SqliteRunParts {
  readonly db: DatabaseSync;
  readonly rows: RecordRows;
  readonly group: GroupCommit;
  readonly time: LedgerTime;
  readonly retentionMs: DurationMs;
  look<T>(read: () => T): T;
}

const SELECT = "SELECT * FROM ledger_run WHERE scope = ?";
const PUT = "INSERT OR REPLACE INTO ledger_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

export function createSqliteRunStore(parts: SqliteRunParts): RunStore {
  const { db, rows, group, time, retentionMs, look } = parts;
  const find = (scopeId: number, id: string) => {
    const row = db.prepare(`${SELECT} AND id = ?`).get(scopeId, id);
    return row === undefined ? null : fromRunColumns(row);
  };
  return {
    put: (scope, run) =>
      group.submit(
        () => {
          const scopeId = rows.openScope(scope);
          const at = { ...time.read(), retentionMs };
          const merged = mergeRun(find(scopeId, run.id), run, at);
          const { id, kind, startedAt, endedAt, seenAt, codeDigest, configDigest } = merged;
          const { environment, parameters, counts, expiresAt } = merged;
          const times = [startedAt, endedAt, seenAt];
          const texts = [codeDigest, configDigest, environment, parameters, counts];
          db.prepare(PUT).run(scopeId, id, kind, ...times, ...texts, expiresAt);
        },
        { alone: false },
      ),
    async find(scope, id) {
      return look(() => {
        const scopeId = rows.findScope(scope);
        return scopeId === null ? null : find(scopeId, id);
      });
    },
    async list(scope, { start, limit }) {
      return look(() => {
        const scopeId = rows.findScope(scope);
        if (scopeId === null) return [];
        const before = start === null ? "" : "AND (started_at, id) < (?, ?)";
        const list = db.prepare(`${SELECT} ${before} ORDER BY started_at DESC, id DESC LIMIT ?`);
        const position = start === null ? [] : [start.startedAt, start.id];
        return list.all(scopeId, ...position, limit).map(fromRunColumns);
      });
    },
  };
}
