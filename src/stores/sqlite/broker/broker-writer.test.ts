// The writer's writes, run on a real database in this thread, compared with the simplest model.

import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  anyHistory,
  headOf,
  loadAll,
  meaningful,
  message,
} from "../../../../test/contracts/broker-store.ts";
import { isFullSize } from "../../../../test/support/full-size.ts";
import type { Change } from "../../../ports/broker/broker-change.ts";
import { createMemoryBrokerStore } from "../../memory/broker-store.ts";
import { SCHEMA_ROWS } from "./broker-schema.ts";
import { readSnapshot } from "./broker-snapshot.ts";
import { prepareReads, prepareWrites, type Write } from "./broker-statements.ts";
import { BrokerWriter } from "./broker-writer.ts";
import { addObjectTables } from "./object-schema.ts";
import { PAGE_MESSAGES } from "./receipt-pages.ts";
import { rowCheck } from "./row-check.ts";

const HISTORY_RUNS = isFullSize ? 60 : 15;
const HISTORY_SIZES = { commitsMax: 25, changesMax: 120 };

/** A database in memory with the broker's tables, and a writer on it. */
function createBench() {
  const database = new DatabaseSync(":memory:");
  for (const row of SCHEMA_ROWS) database.exec(row.slice(row.indexOf(" ") + 1));
  database.exec(`INSERT INTO meta VALUES (1, 0, ${rowCheck(0)})`);
  addObjectTables(database);
  const reads = prepareReads(database, "broker.sqlite");
  const run = prepareWrites(database);
  let writer = new BrokerWriter(() => reads);
  const waiting: Write[][] = [];
  const write = () => {
    run(waiting.shift() ?? []);
    writer.endCommit();
  };
  return {
    commit: (changes: readonly Change[]) => {
      waiting.push(writer.encode(changes));
      write();
    },
    /** Encodes a commit that `write` runs later; copied, as by posting. */
    begin: (changes: readonly Change[]) => waiting.push(structuredClone(writer.encode(changes))),
    write,
    encode: (changes: readonly Change[]) => writer.encode(changes),
    read: (seq: number) => writer.read(seq),
    /** Discards all state in memory, as a restart does. */
    restart: () => {
      writer = new BrokerWriter(() => reads);
    },
    load: () => {
      const guard = <T>(work: () => T) => work();
      const hooks = { guard, drained: () => {} };
      const snapshot = readSnapshot(database, "broker.sqlite", hooks);
      return {
        sequence: snapshot.sequence,
        documents: [...snapshot.documents],
        dedups: [...snapshot.dedups],
        messages: [...snapshot.messages],
      };
    },
    rows: (table: "block" | "content" | "receipt") =>
      Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n),
    close: () => database.close(),
  };
}

const erase = (seq: number): Change => ({ kind: "delete-message", seq });
const put = (...seqs: number[]) => seqs.map((seq) => message(seq));
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const seqsOf = (bench: ReturnType<typeof createBench>) =>
  bench.load().messages.map(({ seq }) => seq);

test("any history of large commits reads as from the memory store, with and without restarts", async () => {
  const property = fc.asyncProperty(anyHistory(HISTORY_SIZES), async (history) => {
    const bench = createBench();
    const model = createMemoryBrokerStore();
    const numbers = { next: 1 };
    for (const step of history) {
      const changes = meaningful(step.choices, loadAll(model), numbers);
      bench.commit(changes);
      await model.commit(changes);
      if (step.reopen) bench.restart();
      const snapshot = loadAll(model);
      expect(bench.load()).toEqual(snapshot);
      for (const { seq } of snapshot.messages) expect(bench.read(seq)).toEqual(model.read(seq));
    }
    for (const { seq } of loadAll(model).messages) bench.commit([erase(seq)]);
    const rows = [bench.rows("block"), bench.rows("content"), bench.rows("receipt")];
    expect(rows).toEqual([0, 0, 0]); // Deleted messages leave no rows.
    bench.close();
  });
  await fc.assert(property, { numRuns: HISTORY_RUNS });
});

test("reads see all commits in flight, and the same after they are written (W4)", async () => {
  const property = fc.asyncProperty(anyHistory(HISTORY_SIZES), async (history) => {
    const bench = createBench();
    const model = createMemoryBrokerStore();
    const numbers = { next: 1 };
    let before = loadAll(model);
    for (const [index, step] of history.entries()) {
      const changes = meaningful(step.choices, loadAll(model), numbers);
      bench.begin(changes);
      await model.commit(changes);
      const snapshot = loadAll(model);
      for (const { seq } of snapshot.messages) expect(bench.read(seq)).toEqual(model.read(seq));
      for (const { seq } of before.messages) expect(bench.read(seq)).toEqual(model.read(seq));
      if (index > 0) bench.write(); // The commit before this one.
      if (index > 0) expect(bench.load()).toEqual(before);
      for (const { seq } of snapshot.messages) expect(bench.read(seq)).toEqual(model.read(seq));
      before = snapshot;
    }
    if (history.length > 0) bench.write();
    bench.restart();
    expect(bench.load()).toEqual(before);
    for (const { seq } of before.messages) expect(bench.read(seq)).toEqual(model.read(seq));
    bench.close();
  });
  await fc.assert(property, { numRuns: HISTORY_RUNS });
});

test("the messages of a commit are two rows per page, and a receipt is one row", () => {
  const bench = createBench();
  const writes = bench.encode(range(64, 64 + 2 * PAGE_MESSAGES - 1).map((seq) => message(seq)));
  expect(writes.map(([name]) => name)).toEqual(["insertBlock", "insertBlock"]);
});

test("a message that is put and deleted in one commit leaves no row", () => {
  const bench = createBench();
  bench.commit([...put(1, 2), erase(1), erase(2)]);
  expect([bench.rows("block"), bench.rows("content"), bench.rows("receipt")]).toEqual([0, 0, 0]);
  bench.commit(put(3)); // The page is not full yet; the next message stays.
  bench.restart();
  expect(seqsOf(bench)).toEqual([3]);
});

test("a message that moves twice in one commit arrives with its content", () => {
  const bench = createBench();
  const move = (from: number, to: number): Change => ({
    kind: "move-message",
    from,
    head: headOf(message(to, { queue: to })),
    id: null,
    detail: undefined,
  });
  bench.commit([message(1, { body: "old" })]);
  bench.restart();
  bench.commit([message(2, { body: "new" }), move(1, 3), move(3, 4), move(2, 5)]);
  expect(seqsOf(bench)).toEqual([4, 5]);
  expect([4, 5].map((seq) => bench.read(seq)?.body)).toEqual(["old", "new"]);
});

test("a block with some deleted messages keeps the others after a restart", () => {
  const bench = createBench();
  bench.commit(put(...range(1, 63)));
  bench.restart();
  bench.commit(range(2, 63).map(erase));
  bench.restart();
  expect(seqsOf(bench)).toEqual([1]);
  expect([bench.read(1)?.body, bench.read(2)]).toEqual(["body 1", undefined]);
  expect(bench.rows("block")).toBe(1);
});

test("the last page continues after a restart, and its deleted messages stay deleted", () => {
  const bench = createBench();
  bench.commit(put(65, 66, 67));
  bench.commit([erase(66)]);
  bench.restart();
  bench.commit(put(68));
  bench.restart();
  bench.commit([erase(65)]);
  expect(seqsOf(bench)).toEqual([67, 68]);
});

test("changes to more pages than fit in memory are all written and read back", () => {
  const bench = createBench();
  const pages = range(1, 2_500);
  for (const page of pages) bench.commit(put(page * PAGE_MESSAGES, page * PAGE_MESSAGES + 1));
  bench.commit(pages.map((page) => erase(page * PAGE_MESSAGES)));
  for (const page of pages) bench.read(page * PAGE_MESSAGES);
  bench.commit(
    pages.filter((page) => page % 2 === 0).map((page) => erase(page * PAGE_MESSAGES + 1)),
  );
  const remaining = pages.filter((page) => page % 2 === 1).map((page) => page * PAGE_MESSAGES + 1);
  expect(seqsOf(bench)).toEqual(remaining);
  expect(bench.rows("receipt")).toBe(remaining.length);
});

test("a change that names no living message is a broken invariant (W2)", () => {
  for (const change of [
    erase(9),
    { kind: "move-message", from: 9, head: headOf(message(10)), id: null, detail: undefined },
    { ...headOf(message(9)), kind: "update-receipt" },
  ] satisfies Change[]) {
    expect(() => createBench().encode([change])).toThrow(/message 9/);
  }
});

test("a megabyte of text in any script is read back unchanged", () => {
  const bench = createBench();
  const bodies = ["x".repeat(2 ** 20), "ü".repeat(2 ** 19), "\u{1f30a}".repeat(2 ** 18)];
  bench.commit(bodies.map((body, index) => message(index + 1, { body, detail: body.slice(-8) })));
  bench.restart();
  for (const [index, body] of bodies.entries()) {
    const content = bench.read(index + 1);
    expect(content?.body === body).toBe(true);
    expect(content?.detail).toBe(body.slice(-8));
  }
});
