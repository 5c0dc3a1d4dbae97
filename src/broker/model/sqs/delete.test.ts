import { expect, test } from "vitest";
import { entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import type { ReceivedCopy } from "../operations.ts";

function received(name: string): { bench: ModelBench; first: ReceivedCopy } {
  const bench = new ModelBench();
  bench.create(name);
  bench.send(name, name === "q" ? entry("a") : inGroup("g", "a"));
  return { bench, first: bench.receive(name)[0] as ReceivedCopy };
}

test("deleting twice succeeds twice (D1)", () => {
  for (const name of ["q", "q.fifo"]) {
    const { bench, first } = received(name);
    expect(bench.delete(name, first, first)).toEqual([null, null]);
    expect(bench.changes.filter(({ kind }) => kind === "delete-message")).toHaveLength(1);
    expect(bench.state.slab.used).toBe(0);
  }
});

test("the latest handle deletes a standard message after its timeout, too (D2)", () => {
  const { bench, first } = received("q");
  bench.pass(30_000);
  expect(bench.delete("q", first)).toEqual([null]);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
});

test("an earlier handle deletes a standard message that was received again (D2)", () => {
  const { bench, first } = received("q");
  bench.pass(30_000);
  const [second] = bench.receive("q") as [ReceivedCopy];
  expect(bench.delete("q", first)).toEqual([null]);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
  expect(bench.delete("q", second)).toEqual([null]);
});

test("a FIFO handle is refused once its timeout is over, unless it was extended (D3)", () => {
  const { bench, first } = received("q.fifo");
  bench.change("q.fifo", first, 60_000);
  bench.pass(59_999);
  bench.send("q.fifo", inGroup("h", "b"));
  const [other] = bench.receive("q.fifo") as [ReceivedCopy];
  bench.pass(1);
  expect(bench.delete("q.fifo", first)[0]).toEqual({
    name: "InvalidParameterValue",
    message:
      `Value ${first.receiptHandle} for parameter ReceiptHandle is invalid. ` +
      "Reason: The receipt handle has expired.",
  });
  expect(bench.delete("q.fifo", other)).toEqual([null]);
  expect(bench.counts("q.fifo")).toEqual([1, 0, 0]);
});

test("an older FIFO handle is refused while the message is in flight under a newer one", () => {
  const { bench, first } = received("q.fifo");
  bench.pass(30_000);
  const [second] = bench.receive("q.fifo") as [ReceivedCopy];
  expect(bench.delete("q.fifo", first)[0]?.name).toBe("InvalidParameterValue");
  expect(bench.delete("q.fifo", second)).toEqual([null]);
});

test("garbage and handles of another queue are refused; the rest of the batch counts", () => {
  const { bench, first } = received("q");
  bench.create("other");
  expect(bench.delete("other", first)[0]?.name).toBe("ReceiptHandleIsInvalid");
  const handles = ["garbage", first.receiptHandle];
  const { faults } = bench.ok("delete", { queue: "q", handles });
  expect(faults).toEqual([
    {
      name: "ReceiptHandleIsInvalid",
      message: 'The input receipt handle "garbage" is not a valid receipt handle.',
    },
    null,
  ]);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
});
