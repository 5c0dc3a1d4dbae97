import { expect, test } from "vitest";
import type { ObjectInput } from "../spec/pipeline-spec.ts";
import { createOpenReads } from "./open-reads.ts";

/** An arrival of two chunks, of which the second comes when it is told to. */
function slowArrival() {
  const second = Promise.withResolvers<Uint8Array>();
  async function* bytes() {
    yield new Uint8Array(1);
    yield await second.promise;
  }
  const arrival = { bytes, rows: bytes, text: () => second.promise };
  return { second, arrival: arrival as unknown as ObjectInput<unknown> };
}

test("what was read, or left off between two reads, is not open", async () => {
  const reads = createOpenReads();
  const { arrival, second } = slowArrival();
  const watched = reads.watch(arrival);
  await watched.bytes()[Symbol.asyncIterator]().next();
  second.resolve(new Uint8Array(2));
  let rows = 0;
  for await (const _ of watched.rows()) rows += 1;
  expect(rows).toBe(2);
  expect(reads.end()).toBe(0);
});

test("a stream that is closed while it reads ahead is not open (N3)", async () => {
  const reads = createOpenReads();
  const { arrival, second } = slowArrival();
  const stream = reads.watch(arrival).bytes()[Symbol.asyncIterator]();
  await stream.next();
  const ahead = stream.next();
  const closed = stream.return?.();
  expect(reads.end()).toBe(0);
  second.resolve(new Uint8Array(2));
  await expect(ahead).resolves.toMatchObject({ done: false });
  await closed;
});

test.each(["answered", "refused"])(
  "reads that a handler left waiting are counted, and nobody hears of it when they are %s",
  async (how) => {
    const reads = createOpenReads();
    const { arrival, second } = slowArrival();
    const watched = reads.watch(arrival);
    const stream = watched.rows()[Symbol.asyncIterator]();
    await stream.next();
    const told: unknown[] = [];
    const hear = (news: unknown) => void told.push(news);
    stream.next().then(hear, hear);
    watched.text().then(hear, hear);
    expect(reads.end()).toBe(2);
    if (how === "answered") second.resolve(new Uint8Array(2));
    else second.reject(new Error("the attempt is over"));
    await new Promise(setImmediate);
    expect(told).toEqual([]);
  },
);
