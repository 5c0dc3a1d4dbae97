import { expect, test } from "vitest";
import { entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../core/units.ts";
import type { ReceivedCopy } from "../operations.ts";

function received(name: string): { bench: ModelBench; first: ReceivedCopy } {
  const bench = new ModelBench();
  bench.create(name);
  bench.send(name, name === "q" ? entry("a") : inGroup("g", "a"));
  return { bench, first: bench.receive(name)[0] as ReceivedCopy };
}

test("a new timeout counts from now and does not apply to the next receive", () => {
  const { bench, first } = received("q");
  bench.pass(10_000);
  expect(bench.change("q", first, 100_000)).toBe(null);
  bench.pass(99_999);
  expect(bench.bodies("q")).toEqual([]);
  bench.pass(1);
  expect(bench.bodies("q")).toEqual(["a"]);
  bench.pass(30_000);
  expect(bench.bodies("q")).toEqual(["a"]);
});

test("a message that is visible again is hidden again (V1)", () => {
  const { bench, first } = received("q");
  bench.pass(30_000);
  expect(bench.counts("q")).toEqual([1, 0, 0]);
  expect(bench.change("q", first, 10_000)).toBe(null);
  expect(bench.counts("q")).toEqual([0, 1, 0]);
  bench.pass(10_000);
  expect(bench.bodies("q")).toEqual(["a"]);
});

test("zero on a visible message changes nothing", () => {
  const { bench, first } = received("q");
  bench.change("q", first, 0);
  const changes = bench.changes.length;
  expect(bench.change("q", first, 0)).toBe(null);
  expect(bench.changes.length).toBe(changes);
  expect(bench.counts("q")).toEqual([1, 0, 0]);
});

test("an older handle of a standard message works; of a FIFO message it does not (V2)", () => {
  for (const name of ["q", "q.fifo"]) {
    const { bench, first } = received(name);
    bench.pass(30_000);
    bench.receive(name);
    const fault = bench.change(name, first, 0);
    expect(fault?.name).toBe(name === "q" ? undefined : "InvalidParameterValue");
    expect(bench.counts(name)).toEqual(name === "q" ? [1, 0, 0] : [0, 1, 0]);
  }
});

test("a deleted message cannot be hidden", () => {
  const { bench, first } = received("q");
  bench.delete("q", first);
  expect(bench.change("q", first, 10_000)).toEqual({
    name: "InvalidParameterValue",
    message:
      `Value ${first.receiptHandle} for parameter ReceiptHandle is invalid. Reason: Message ` +
      "does not exist or is not available for visibility timeout change.",
  });
});

test("no message stays hidden for more than twelve hours after its receive (V3)", () => {
  const { bench, first } = received("q");
  const TWELVE_HOURS_MS = 43_200_000;
  expect(bench.change("q", first, TWELVE_HOURS_MS)).toBe(null);
  bench.pass(1_000);
  expect(bench.change("q", first, TWELVE_HOURS_MS)).toEqual({
    name: "InvalidParameterValue",
    message:
      "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout " +
      "for the message is beyond the limit [43200 seconds]",
  });
  expect(bench.change("q", first, TWELVE_HOURS_MS - 1_000)).toBe(null);
});

test("garbage and handles of another queue are refused one by one", () => {
  const { bench, first } = received("q");
  bench.create("other");
  const entries = ["garbage", first.receiptHandle].map((handle) => ({
    handle,
    visibilityMs: durationMs(0),
  }));
  const faultsOf = (queue: string) =>
    bench.ok("changeVisibility", { queue, entries }).faults.map((fault) => fault?.name ?? null);
  expect(faultsOf("q")).toEqual(["ReceiptHandleIsInvalid", null]);
  expect(faultsOf("other")).toEqual(["ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"]);
});

test("an operator shows a hidden message, and its handle can delete it but not hide it (V4)", () => {
  for (const name of ["q", "q.fifo"]) {
    const { bench, first } = received(name);
    const [peeked] = bench.ok("peek", { queue: name, afterSeq: 0, limit: 1 }).messages;
    const seq = peeked?.seq ?? 0;
    expect(bench.ok("reveal", { queue: name, seq })).toEqual({ revealed: true });
    expect(bench.counts(name)).toEqual([1, 0, 0]);
    expect(bench.ok("reveal", { queue: name, seq })).toEqual({ revealed: false });
    expect(bench.ok("reveal", { queue: name, seq: seq + 1 })).toEqual({ revealed: false });
    expect(bench.change(name, first, 10_000)?.name).toBe("InvalidParameterValue");
    expect(bench.change(name, first, 0)).toBe(null);
    expect(bench.counts(name)).toEqual([1, 0, 0]);
    const [second] = bench.receive(name);
    expect(bench.change(name, second as ReceivedCopy, 60_000)).toBe(null);
    bench.pass(59_999);
    expect(bench.counts(name)).toEqual([0, 1, 0]);
  }
});

test("a message that was revealed is deleted by the handle of its last receive (V4)", () => {
  const { bench, first } = received("q");
  const [peeked] = bench.ok("peek", { queue: "q", afterSeq: 0, limit: 1 }).messages;
  bench.ok("reveal", { queue: "q", seq: peeked?.seq ?? 0 });
  bench.delete("q", first);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
});
