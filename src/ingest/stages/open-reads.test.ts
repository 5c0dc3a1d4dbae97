import { expect, test } from "vitest";
import type { ObjectInput } from "../spec/pipeline-spec.ts";
import { createOpenReads } from "./open-reads.ts";

/** An input of two chunks; the second one arrives when `second` resolves. */
function slowInput() {
  const second = Promise.withResolvers<Uint8Array>();
  async function* bytes() {
    yield new Uint8Array(1);
    yield await second.promise;
  }
  const input = { bytes, rows: bytes, text: () => second.promise };
  return { second, input: input as unknown as ObjectInput<unknown> };
}

test("a finished stream, or one that is left between two reads, is not open", async () => {
  const reads = createOpenReads();
  const { input, second } = slowInput();
  const watched = reads.watch(input);
  await watched.bytes()[Symbol.asyncIterator]().next();
  second.resolve(new Uint8Array(2));
  let rows = 0;
  for await (const _ of watched.rows()) rows += 1;
  expect(rows).toBe(2);
  expect(reads.end()).toBe(0);
});

test("a stream that is closed during a read ahead is not open (N3)", async () => {
  const reads = createOpenReads();
  const { input, second } = slowInput();
  const stream = reads.watch(input).bytes()[Symbol.asyncIterator]();
  await stream.next();
  const ahead = stream.next();
  const closed = stream.return?.();
  expect(reads.end()).toBe(0);
  second.resolve(new Uint8Array(2));
  await expect(ahead).resolves.toMatchObject({ done: false });
  await closed;
});

test.each(["resolved", "rejected"])(
  "reads that are pending when the handler ends are counted, and never %s (N1, N2)",
  async (how) => {
    const reads = createOpenReads();
    const { input, second } = slowInput();
    const watched = reads.watch(input);
    const stream = watched.rows()[Symbol.asyncIterator]();
    await stream.next();
    const results: unknown[] = [];
    const add = (result: unknown) => void results.push(result);
    stream.next().then(add, add);
    watched.text().then(add, add);
    expect(reads.end()).toBe(2);
    if (how === "resolved") second.resolve(new Uint8Array(2));
    else second.reject(new Error("the attempt is over"));
    await new Promise(setImmediate);
    expect(results).toEqual([]);
  },
);
