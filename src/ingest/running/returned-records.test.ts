import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { ReturnedRecords } from "./returned-records.ts";

const keyOf = (n: number) => asRecordKey(`k1:${n.toString(16).padStart(64, "0")}`);
const at = (minute: number) => epochMs(1_800_000_000_000 + minute * 60_000);
const NONE = { messages: 0, oldest: null, until: null };

/** Two records of one message, and one of another. */
function threeRecords(): ReturnedRecords {
  const returned = new ReturnedRecords();
  returned.add(keyOf(1), { messageId: "a", eventTime: at(-5), until: at(10) });
  returned.add(keyOf(2), { messageId: "a", eventTime: at(-9), until: at(10) });
  returned.add(keyOf(3), { messageId: "b", eventTime: at(-7), until: at(20) });
  return returned;
}

test("messages are counted, not records, and the oldest event time is reported", () => {
  const returned = threeRecords();
  expect(returned.report()).toEqual({ messages: 2, oldest: at(-9), until: at(20) });
  returned.begun(keyOf(2));
  expect(returned.report()).toEqual({ messages: 2, oldest: at(-7), until: at(20) });
});

test("a record is forgotten only after a drained receive that its delay precedes (T1)", () => {
  const returned = threeRecords();
  expect(returned.forget(null, at(99), true)).toBe(false);
  expect(returned.forget(at(10), at(99), true)).toBe(false);
  expect(returned.forget(at(11), at(99), true)).toBe(true);
  expect(returned.report()).toEqual({ messages: 1, oldest: at(-7), until: at(20) });
});

test("without polls, a record is forgotten a while after its delay (T2)", () => {
  const returned = threeRecords();
  expect(returned.forget(null, at(24), false)).toBe(false);
  expect(returned.forget(null, at(35), false)).toBe(true);
  expect(returned.report()).toEqual(NONE);
});

test("records beyond the limit keep their oldest event time, and count no message (T3)", () => {
  const returned = new ReturnedRecords();
  for (let n = 0; n < 10_000; n += 1) {
    returned.add(keyOf(n), { messageId: `${n}`, eventTime: at(0), until: at(1) });
  }
  returned.add(keyOf(10_001), { messageId: "x", eventTime: at(-60), until: at(9) });
  returned.add(keyOf(10_002), { messageId: "y", eventTime: at(-30), until: at(2) });
  expect(returned.report()).toEqual({ messages: 10_000, oldest: at(-60), until: at(9) });
});

test("what a process left behind is taken over once, however often (T4)", () => {
  const returned = new ReturnedRecords();
  const inherited = { messages: 3, oldest: at(-60), until: at(5) };
  returned.inherit("gone", inherited);
  returned.inherit("gone", inherited);
  expect(returned.report()).toEqual(inherited);
  returned.forget(at(6), at(6), true);
  expect(returned.report()).toEqual(NONE);
});
