import { expect, test } from "vitest";
import { InvariantError } from "../../core/assert.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { epochMs } from "../../core/units.ts";
import type { MessageHead } from "../../ports/broker/broker-change.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { Batch } from "./batch.ts";
import { ContentCache } from "./content-cache.ts";

function head(seq: number): MessageHead {
  const never = epochMs(0);
  const times = { sentAt: never, dueAt: never, receivedAt: never, firstReceivedAt: never };
  return { seq, queue: 1, ...times, receiveCount: 0, group: null, arrivalCount: 0 };
}

function put(seq: number, body: string) {
  const content = { id: `id-${seq}`, body, detail: "{}" };
  return { kind: "put-message", head: head(seq), content } as const;
}

for (const cacheBytes of [0, 10_000]) {
  const open = async () => {
    const store = createMemoryBrokerStore();
    await store.commit([put(1, "on disk")]);
    const random = createSeededRandom(1);
    const ports = { store, random, space: undefined };
    const batch = new Batch(epochMs(5), ports, new ContentCache(cacheBytes, 1));
    return { store, batch };
  };

  test(`with a cache of ${cacheBytes} bytes a batch reads what the store has`, async () => {
    const { batch } = await open();
    expect(batch.read(1).body).toBe("on disk");
    expect(() => batch.read(2)).toThrow(InvariantError);
  });

  test(`with a cache of ${cacheBytes} bytes moved content is readable immediately (B1)`, async () => {
    const { batch, store } = await open();
    batch.emit(put(2, "fresh"));
    expect(batch.read(2)).toEqual({ id: "id-2", body: "fresh", detail: "{}" });
    batch.emit({ kind: "move-message", from: 2, head: head(3), id: null, detail: undefined });
    expect(batch.read(3)).toEqual({ id: "id-2", body: "fresh", detail: "{}" });
    batch.emit({ kind: "move-message", from: 3, head: head(4), id: "new", detail: null });
    expect(batch.read(4)).toEqual({ id: "new", body: "fresh", detail: null });
    batch.emit({ kind: "move-message", from: 1, head: head(5), id: null, detail: "d" });
    expect(batch.read(5)).toEqual({ id: "id-1", body: "on disk", detail: "d" });
    await store.commit(batch.changes);
    expect(store.read(4)).toEqual(batch.read(4));
    expect(store.read(5)).toEqual(batch.read(5));
    expect(store.read(3)).toBe(undefined);
  });
}

test("changes are kept in the order in which they were emitted", async () => {
  const store = createMemoryBrokerStore();
  const ports = { store, random: createSeededRandom(1), space: undefined };
  const batch = new Batch(epochMs(5), ports, new ContentCache(0, 1));
  batch.emit(put(1, "a"));
  batch.emit({ kind: "delete-message", seq: 1 });
  batch.emit({ kind: "set-sequence", seq: 1 });
  expect(batch.changes.map(({ kind }) => kind)).toEqual([
    "put-message",
    "delete-message",
    "set-sequence",
  ]);
  expect(batch.newId()).not.toBe(batch.newId());
});
