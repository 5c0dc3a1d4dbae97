// Lineage of rows through the side tables of the table sink: from a row to its record, and from an
// object to its rows.

import { describe, expect, onTestFinished, test } from "vitest";
import { findRowOrigin, rowsOfObject } from "../../src/operate/lineage/row-lineage.ts";
import type { Effect } from "../../src/ports/sink.ts";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { anyInput } from "../support/stores/any-input.ts";
import {
  type DeliveredEvent,
  OBSERVATIONS,
  originOf,
  SCOPE,
  specOf,
  T0,
} from "../support/stores/table-sink-world.ts";
import type { TableSinkSubject } from "./table-sink.ts";

const SAME_TIME = 5;

/** An observation of a station; its key has a text and a number. */
const observed = (station: string, at: number, celsius: number): Effect => ({
  kind: "upsert",
  table: "observations",
  row: { station, at, celsius, valid: true },
});

async function openLineage(subject: TableSinkSubject) {
  const database = await subject.freshDatabase();
  const clock = createManualClock(T0);
  const ledger = await database.openLedger(clock);
  const sink = createTableSink(specOf(OBSERVATIONS), database.address);
  await sink.prepare();
  onTestFinished(async () => {
    await sink.close();
    await ledger.close();
  });
  const deliver = async (event: DeliveredEvent) => {
    const origin = originOf(event);
    const { key, object, eventTime } = origin;
    const writes = sink.plan(event.effects ?? [], origin);
    const times = { receivedAt: clock.now(), startedAt: clock.now() };
    const commit = { key, digest: "d", ...(object !== null && { object }), writes, owner: "w" };
    await ledger.commitDirect(SCOPE, [{ ...commit, ...times, input: anyInput({ eventTime }) }]);
  };
  const recordOf = async (...key: string[]) => {
    const row = await findRowOrigin(ledger, [SCOPE], "observations", key);
    return row.kind === "found" ? (row.origin?.listed.key ?? "unknown") : row.kind;
  };
  const rowsOf = async (key: string) => {
    const rows: string[] = [];
    for await (const row of rowsOfObject(ledger, { bucket: "bucket", key })) {
      rows.push(`${row.table} ${row.key.join(" ")}`);
    }
    return rows;
  };
  return { ledger, deliver, recordOf, rowsOf };
}

export function describeRowLineage(subject: TableSinkSubject): void {
  describe(`lineage of rows on ${subject.name}`, () => {
    test("a row leads to the record whose value is visible, of an object or a message", async () => {
      const { deliver, recordOf } = await openLineage(subject);
      const key = (digit: string) => `k1:${digit.repeat(64)}`;
      const oslo = { object: "a.csv", sequencer: "01", effects: [observed("oslo", 1, 3)] };
      await deliver({ key: key("a"), at: SAME_TIME, ...oslo });
      await deliver({ key: key("b"), at: SAME_TIME, effects: [observed("bergen", 1, 4)] });
      await deliver({ key: key("c"), at: SAME_TIME, effects: [observed("tromso", 1, 5)] });
      expect(await recordOf("oslo", "1")).toBe(key("a"));
      expect(await recordOf("bergen", "1")).toBe(key("b"));
      expect(await recordOf("tromso", "1")).toBe(key("c"));
      await deliver({ key: key("d"), at: 9, effects: [observed("oslo", 1, 9)] });
      expect(await recordOf("oslo", "1")).toBe(key("d"));
    });

    test("an object leads to the rows of its newest version, and to no others", async () => {
      const { deliver, rowsOf } = await openLineage(subject);
      const first = [observed("oslo", 1, 3), observed("oslo", 2, 4)];
      await deliver({ key: "one", at: 1, object: "a.csv", sequencer: "01", effects: first });
      await deliver({ key: "other", at: 1, object: "b.csv", effects: [observed("rome", 1, 20)] });
      expect(await rowsOf("a.csv")).toEqual(["observations oslo 1", "observations oslo 2"]);
      const second = [observed("oslo", 2, 5)];
      await deliver({ key: "two", at: 2, object: "a.csv", sequencer: "02", effects: second });
      expect(await rowsOf("a.csv")).toEqual(["observations oslo 2"]);
      expect(await rowsOf("missing.csv")).toEqual([]);
    });

    test("a missing row, a missing table and an incomplete key each have their own answer", async () => {
      const { ledger, deliver, recordOf } = await openLineage(subject);
      await deliver({ key: "one", at: 1, effects: [observed("oslo", 1, 3)] });
      expect(await recordOf("oslo", "2")).toBe("no-row");
      expect(await findRowOrigin(ledger, [SCOPE], "nothing", ["a"])).toEqual({ kind: "no-table" });
      await expect(recordOf("oslo")).rejects.toThrow("the key of observations is station, at");
    });
  });
}
