import { expect, test } from "vitest";
import { addMs, durationMs, type EpochMs, epochMs, hours, minutes } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { ReturnedRecords } from "./returned-records.ts";

const NOW = epochMs(1_800_000_000_000);
const KEY = asRecordKey("k1:a");
const NONE = { messages: 0, oldest: null, until: null };

const after = (ms: number): EpochMs => addMs(NOW, durationMs(ms));
const GRACE_MS = minutes(15);

function returned(eventTime: number, until: EpochMs = after(5_000), messageId = "m") {
  return { messageId, eventTime: epochMs(eventTime), until, object: null };
}

test("a record stays until it is received again, however long it is due (T1)", () => {
  const records = new ReturnedRecords();
  records.add(KEY, returned(7));
  const later = after(1_000_000_000);
  expect(records.forget(later)).toBe(false);
  expect(records.report(later)).toMatchObject({ oldest: 7 });
  records.begun(KEY, { grouped: false, waitedMs: 0 });
  expect(records.report(later)).toEqual(NONE);
});

test("a settled record is forgotten, unless it was returned again meanwhile (T1)", () => {
  const records = new ReturnedRecords();
  const first = returned(7);
  records.add(KEY, first);
  records.add(KEY, returned(7, after(9_000)));
  records.settled(KEY, first);
  expect(records.report(NOW)).toMatchObject({ oldest: 7, until: after(9_000) });
  const [entry] = records.oldest(1);
  records.settled(KEY, entry?.[1] ?? first);
  expect(records.report(NOW)).toEqual(NONE);
});

test("the oldest event times come first, up to the limit (T1)", () => {
  const records = new ReturnedRecords();
  for (const at of [5, 3, 4]) records.add(asRecordKey(`k1:${at}`), returned(at));
  expect(records.oldest(2).map(([key]) => key)).toEqual(["k1:3", "k1:4"]);
});

test("an empty receive forgets what was due by then, after the grace (T2)", () => {
  const records = new ReturnedRecords();
  records.add(KEY, returned(7, after(5_000)));
  records.add(asRecordKey("k1:b"), returned(9, after(7_000)));
  records.emptied(after(6_000));
  expect(records.forget(addMs(after(5_999), GRACE_MS))).toBe(false);
  expect(records.forget(addMs(after(6_000), GRACE_MS))).toBe(true);
  expect(records.report(NOW)).toMatchObject({ oldest: 9 });
});

test("an empty receive before a record is due does not forget it (T2)", () => {
  const records = new ReturnedRecords();
  records.add(KEY, returned(7, after(5_000)));
  records.emptied(after(4_999));
  expect(records.forget(addMs(after(60_000), GRACE_MS))).toBe(false);
});

test("an empty receive of a queue with groups forgets nothing (T2)", () => {
  for (const isBefore of [true, false]) {
    const records = new ReturnedRecords();
    const message = { grouped: true, waitedMs: 0 };
    if (isBefore) records.begun(asRecordKey("k1:b"), message);
    records.add(KEY, returned(7, NOW));
    records.emptied(after(1));
    if (!isBefore) records.begun(asRecordKey("k1:b"), message);
    expect(records.forget(addMs(after(60_000), GRACE_MS))).toBe(false);
  }
});

test("records beyond the limit share an entry that counts no message (T3)", () => {
  const records = new ReturnedRecords();
  const limit = 10_000;
  for (let at = 0; at < limit; at += 1) {
    records.add(asRecordKey(`k1:${at}`), returned(1_000, after(1_000), `m${at}`));
  }
  records.add(asRecordKey("k1:x"), returned(30, after(9_000), "x"));
  records.add(asRecordKey("k1:y"), returned(20, after(8_000), "y"));
  expect(records.report(NOW)).toEqual({ messages: limit, oldest: 20, until: after(9_000) });
});

test("what a gone process left is one entry, however often it is taken over (T4)", () => {
  const records = new ReturnedRecords();
  const entry = { messages: 3, oldest: epochMs(7), until: after(5_000) };
  records.inherit("gone", entry);
  records.inherit("gone", entry);
  expect(records.report(NOW)).toEqual(entry);
});

test("such an entry is forgotten after an hour and the longest wait in the queue (T5)", () => {
  const records = new ReturnedRecords();
  records.begun(KEY, { grouped: true, waitedMs: 60_000 });
  records.inherit("gone", { messages: 3, oldest: epochMs(7), until: NOW });
  expect(records.forget(addMs(after(59_999), hours(1)))).toBe(false);
  expect(records.forget(addMs(after(60_000), hours(1)))).toBe(true);
  expect(records.report(NOW)).toEqual(NONE);
});

test("only messages that are not due are counted, each once (T6)", () => {
  const records = new ReturnedRecords();
  records.add(asRecordKey("k1:a"), returned(7, after(5_000), "one"));
  records.add(asRecordKey("k1:b"), returned(8, after(5_000), "one"));
  records.add(asRecordKey("k1:c"), returned(9, after(9_000), "two"));
  records.inherit("gone", { messages: 3, oldest: epochMs(10), until: after(7_000) });
  expect(records.report(NOW).messages).toBe(5);
  expect(records.report(after(5_000)).messages).toBe(4);
  expect(records.report(after(7_000)).messages).toBe(1);
  expect(records.report(after(9_000))).toMatchObject({ messages: 0, oldest: 7 });
});

test("a message is counted as long as one of its records is returned (T6)", () => {
  const records = new ReturnedRecords();
  records.add(asRecordKey("k1:a"), returned(7, after(5_000), "one"));
  records.add(asRecordKey("k1:b"), returned(8, after(5_000), "one"));
  records.begun(asRecordKey("k1:a"), { grouped: false, waitedMs: 0 });
  expect(records.report(NOW)).toMatchObject({ messages: 1, oldest: 8 });
});
