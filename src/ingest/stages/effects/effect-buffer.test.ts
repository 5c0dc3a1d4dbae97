import { expect, test } from "vitest";
import type { Effect, TransactionalStagedRows } from "../../../ports/sink.ts";
import { CHUNK_EFFECTS, EFFECTS_MAX, EffectBuffer, MEMORY_EFFECTS } from "./effect-buffer.ts";

const upsert = (id: number, text = ""): Effect => ({
  kind: "upsert",
  table: "t",
  row: { id, text },
});

/** A stage that stores chunks, one at a time, when the test lets it. */
function world(options: { readonly fails?: boolean; readonly failsAtEnd?: boolean } = {}) {
  const chunks: (readonly Effect[])[] = [];
  const gates: (() => void)[] = [];
  const state = { sealed: false, discarded: false, active: 0 };
  const stage: TransactionalStagedRows = {
    mode: "transactional",
    counts: new Map(),
    async add(effects) {
      state.active += 1;
      expect(state.active).toBe(1);
      await new Promise<void>((resolve) => gates.push(resolve));
      state.active -= 1;
      if (options.fails === true) throw new Error("disk is full");
      chunks.push(effects);
    },
    async seal() {
      if (options.failsAtEnd === true) throw new Error("disk is full");
      state.sealed = true;
    },
    async discard() {
      state.discarded = true;
    },
    merge: () => [],
  };
  const buffer = new EffectBuffer(() => stage);
  const pump = async <T>(waited: Promise<T>): Promise<T> => {
    let done = false;
    const ended = waited.finally(() => {
      done = true;
    });
    ended.catch(() => undefined);
    for (let turn = 0; turn < 1_000 && !done; turn += 1) {
      gates.shift()?.();
      await Promise.resolve();
    }
    return ended;
  };
  return { buffer, chunks, state, pump };
}

test("a few effects stay in memory", async () => {
  const { buffer, chunks } = world();
  for (let id = 0; id < MEMORY_EFFECTS - 1; id += 1) buffer.add(upsert(id));
  expect(buffer.ready()).toBe(null);
  const { effects, staged } = await buffer.finish();
  expect([effects.length, staged, chunks.length]).toEqual([MEMORY_EFFECTS - 1, null, 0]);
});

test("many effects are staged in order, one chunk at a time, and reads wait for a full one", async () => {
  const { buffer, chunks, state, pump } = world();
  for (let id = 0; id < 2 * MEMORY_EFFECTS + 10; id += 1) buffer.add(upsert(id));
  const wait = buffer.ready();
  expect(wait).not.toBe(null);
  await pump(wait ?? Promise.resolve());
  const { effects, staged } = await pump(buffer.finish());
  expect([effects.length, staged !== null, state.sealed]).toEqual([0, true, true]);
  const all = chunks.flat().map((effect) => effect.kind === "upsert" && effect.row.id);
  expect(all).toEqual(Array.from({ length: 2 * MEMORY_EFFECTS + 10 }, (_, id) => id));
  expect(chunks.every(({ length }) => length <= CHUNK_EFFECTS)).toBe(true);
});

test("large rows are staged before they are many", async () => {
  const { buffer, chunks, pump } = world();
  for (let id = 0; id < 5; id += 1) buffer.add(upsert(id, "x".repeat(1_048_576)));
  await pump(buffer.finish());
  expect(chunks.length).toBeGreaterThan(0);
});

test("wide rows of short values are staged before they are many", async () => {
  const { buffer, chunks, pump } = world();
  const row = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`c${at}`, at % 10]));
  for (let id = 0; id < 600; id += 1) buffer.add({ kind: "upsert", table: "t", row });
  await pump(buffer.finish());
  expect(chunks.length).toBeGreaterThan(0);
});

test("a chunk that cannot be staged fails the attempt, and its stage is dropped", async () => {
  const { buffer, state, pump } = world({ fails: true });
  for (let id = 0; id < MEMORY_EFFECTS; id += 1) buffer.add(upsert(id));
  await expect(pump(buffer.flush())).rejects.toThrow("disk is full");
  expect(() => buffer.add(upsert(1))).toThrow("disk is full");
  await expect(buffer.finish()).rejects.toThrow("disk is full");
  await buffer.discard();
  expect(state.discarded).toBe(true);
});

test("a last chunk that cannot be staged is a failure of the store, not of the handler", async () => {
  const { buffer, pump } = world({ failsAtEnd: true });
  for (let id = 0; id < MEMORY_EFFECTS; id += 1) buffer.add(upsert(id));
  const failure: unknown = await pump(buffer.finish()).catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: "disk is full" });
  expect(buffer.isFailure(failure)).toBe(true);
});

test("a handler that never waits fails at a named limit", () => {
  const { buffer } = world();
  const loop = () => {
    for (let id = 0; id < 1_000_000; id += 1) buffer.add(upsert(id));
  };
  expect(loop).toThrow(/call `await flush\(\)` in the loop/);
});

test("a sink that cannot stage has a limit of effects per record", () => {
  const buffer = new EffectBuffer(null);
  const loop = () => {
    for (let id = 0; id <= EFFECTS_MAX; id += 1) buffer.add(upsert(id));
  };
  expect(loop).toThrow(/more than 100000 effects/);
});
