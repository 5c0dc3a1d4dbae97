import fc from "fast-check";
import { expect, test } from "vitest";
import { durationMs } from "../../core/units.ts";
import { NOT_RUN, type RecordOutcome, settlementOf } from "./outcome.ts";

const done: RecordOutcome = { kind: "done", how: "committed" };
const later = (ms: number): RecordOutcome => ({
  kind: "later",
  delayMs: durationMs(ms),
  why: "retry",
  blames: "record",
});

const anyOutcome = fc.oneof(
  fc.constant(done),
  fc.constant<RecordOutcome>({ kind: "lost" }),
  fc.constant(NOT_RUN),
  fc.nat(10_000).map(later),
);

test("a delivery is deleted if, and only if, every record of it is done (O1)", () => {
  fc.assert(
    fc.property(fc.array(anyOutcome), (outcomes) => {
      const all = outcomes.every(({ kind }) => kind === "done");
      expect(settlementOf(outcomes).kind === "delete").toBe(all);
    }),
  );
});

test("a delivery whose lease was lost for one record is left to its new consumer (O2)", () => {
  fc.assert(
    fc.property(fc.array(anyOutcome), fc.array(anyOutcome), (before, after) => {
      expect(settlementOf([...before, { kind: "lost" }, ...after])).toEqual({ kind: "leave" });
    }),
  );
});

test("a delivery is returned with the shortest delay; records that never began add none (O3)", () => {
  expect(settlementOf([later(500), done, later(200)])).toEqual({ kind: "return", delayMs: 200 });
  expect(settlementOf([later(500), NOT_RUN])).toEqual({ kind: "return", delayMs: 500 });
  expect(settlementOf([done, NOT_RUN])).toEqual({ kind: "return", delayMs: 0 });
});
