import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { KeyIndex } from "./key-index.ts";
import { createSqliteTables, SQLITE_LEDGER } from "./schema.ts";

const folder = useTemporaryFolder("index");
const LIMITS = { keysMin: 6, keysMax: 12, sliceMin: 2 };
let files = 0;

/** A process with the file open: its own connection, its own tail. */
class Process {
  readonly db: DatabaseSync;
  readonly index: KeyIndex;

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    createSqliteTables(this.db, SQLITE_LEDGER);
    this.index = new KeyIndex(this.db, LIMITS);
  }

  /** Adds rows in one transaction, which ends with `end`. */
  add(hashes: readonly number[], end: "commit" | "roll back"): number[] {
    this.db.exec("BEGIN IMMEDIATE");
    this.index.refresh();
    const ids = hashes.map((hash) => {
      const id = this.index.add(hash);
      this.db
        .prepare(`INSERT INTO ledger_record
          VALUES (?, 1, ?, 0, ?, 'released', 1, 0, 0, 0, 0, 0, NULL, NULL, NULL, '',
            0, NULL, NULL, '[]')`)
        .run(id, hash, `row ${id}`);
      return id;
    });
    this.index.moveSlice();
    if (end === "commit") {
      this.db.exec("COMMIT");
      this.index.committed();
      return ids;
    }
    this.db.exec("ROLLBACK");
    this.index.rollBack();
    return [];
  }

  /** Every row that the index finds under a hash. */
  find(hash: number): number[] {
    const ids = new Set<number>();
    this.index.refresh();
    this.index.find(hash, (id) => {
      const row = this.db.prepare("SELECT 1 FROM ledger_record WHERE id = ? AND hash = ?");
      if (row.get(id, hash) !== undefined) ids.add(id);
      return null;
    });
    return [...ids].sort((a, b) => a - b);
  }
}

test("every process finds every row, through moves, rollbacks, restarts and collisions", () => {
  const anyMove = fc.record({
    process: fc.nat(2),
    hashes: fc.array(fc.nat(40), { maxLength: 5 }),
    end: fc.constantFrom("commit", "commit", "commit", "roll back", "restart"),
  });
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 40 }), (moves) => {
      files += 1;
      const path = join(folder, `${files}.db`);
      const processes = [0, 1, 2].map(() => new Process(path));
      const rows = new Map<number, number[]>();
      for (const { process, hashes, end } of moves) {
        const running = processes[process];
        if (running === undefined) continue;
        if (end === "restart") {
          running.db.close();
          processes[process] = new Process(path);
          continue;
        }
        for (const [at, id] of running.add(hashes, end).entries()) {
          const hash = hashes[at] ?? -1;
          rows.set(hash, [...(rows.get(hash) ?? []), id]);
        }
      }
      for (const running of processes) {
        for (let hash = 0; hash <= 40; hash += 1) {
          expect(running.find(hash)).toEqual(rows.get(hash) ?? []);
        }
        running.db.close();
      }
    }),
    { numRuns: 60 },
  );
});
