import { expect, test } from "vitest";
import { durationMs, epochMs, hours, minutes, seconds } from "../../core/units.ts";
import {
  ceilingOf,
  dueAt,
  endOf,
  hasCome,
  isOver,
  isSoonDue,
  type Moment,
  momentOf,
  RECEIPT_LEASE_MS_MAX,
  renewalSpan,
} from "./lease-term.ts";

const T0: Moment = { wall: epochMs(1_700_000_000_000), steady: durationMs(5_000) };
const after = (ms: number, wallMs = ms): Moment => ({
  wall: epochMs(T0.wall + wallMs),
  steady: durationMs(T0.steady + ms),
});
const term = { from: T0, spanMs: seconds(60) };

test("a term is safe for four fifths of its span, and not a millisecond longer (T3)", () => {
  expect(isOver(term, after(47_999))).toBe(false);
  expect(isOver(term, after(48_000))).toBe(true);
  expect(endOf(term)).toEqual(after(48_000));
});

test("neither a wall clock that is set back nor a sleeping machine prolongs a term (T1)", () => {
  expect(isOver(term, after(48_000, -hours(1)))).toBe(true);
  expect(isOver(term, after(10, 48_000))).toBe(true);
  expect(hasCome(ceilingOf(T0), after(0, RECEIPT_LEASE_MS_MAX))).toBe(true);
});

test("a term is due for renewal after a third, and joins other renewals after a quarter", () => {
  expect(dueAt(term)).toBe(T0.steady + 20_000);
  expect(isSoonDue(term, after(14_999))).toBe(false);
  expect(isSoonDue(term, after(15_000))).toBe(true);
});

test("a term starts when its delivery was requested, on both clocks (T2)", () => {
  expect(momentOf(T0.wall, after(700))).toEqual(T0);
  expect(momentOf(epochMs(T0.wall + 9_999), after(700))).toEqual(after(700));
});

test("a renewal asks for no more than SQS still grants (T4)", () => {
  expect(renewalSpan(T0, after(seconds(20)), seconds(60))).toBe(seconds(60));
  expect(renewalSpan(T0, after(hours(4)), hours(12))).toBe(hours(8) - minutes(5));
  expect(renewalSpan(T0, after(RECEIPT_LEASE_MS_MAX), hours(1))).toBe(minutes(25));
  expect(renewalSpan(T0, after(hours(13)), hours(1))).toBe(0);
});
