import { expect, test } from "vitest";
import type { ObjectPin, ObjectSource, OpenedObject } from "../ports/objects/object-source.ts";
import { OpenedObjects } from "./opened-objects.ts";

const never = new AbortController().signal;

/** A bucket with one object, which counts how often it is opened. */
function bucketOf(versionId: string | null) {
  const state = { etag: "a", opened: 0, whole: 0 };
  const source: ObjectSource = {
    async open(pin) {
      state.opened += 1;
      const bufferedBytes = pin.expectedBytes ?? null;
      if (bufferedBytes !== null) state.whole += 1;
      if (pin.etag !== null && pin.etag !== state.etag) return { kind: "replaced" };
      const { etag } = state;
      const held = bufferedBytes === null ? {} : { bufferedBytes };
      const bytes = { size: 1, stream: () => [], range: async () => new Uint8Array() };
      const facts = { etag, versionId, lastModified: null, metadata: {}, tags: async () => ({}) };
      return { kind: "opened", bytes, ...held, ...facts } as unknown as OpenedObject;
    },
  };
  return { state, source };
}

const pinOf = (etag: string | null, versionId: string | null = null): ObjectPin => {
  return { bucket: "b", key: "k", versionId, etag };
};

test.each([null, "v1"])("what was looked at is opened once (version %s)", async (versionId) => {
  const { state, source } = bucketOf(versionId);
  const objects = new OpenedObjects(source, never);
  await objects.open(pinOf(null), never);
  expect((await objects.open(pinOf("a", versionId), never)).kind).toBe("opened");
  expect(state.opened).toBe(1);
  await objects.open(pinOf("a", versionId), never);
  expect(state.opened).toBe(2); // A second attempt asks again.
});

test("an opening is not used for other bytes", async () => {
  const { state, source } = bucketOf(null);
  const objects = new OpenedObjects(source, never);
  await objects.look(pinOf("a"), never);
  expect(await objects.open(pinOf("b"), never)).toEqual({ kind: "replaced" });
  state.etag = "c";
  await objects.open(pinOf("a"), never); // The opening is pinned to "a" (A1).
  expect(await objects.open(pinOf("a"), never)).toEqual({ kind: "replaced" });
});

test("openings hold a bounded number of bytes; beyond it, objects are opened without them", async () => {
  const { state, source } = bucketOf(null);
  const objects = new OpenedObjects(source, never);
  const pinned = (at: number) => ({ ...pinOf("a"), key: `k${at}`, expectedBytes: 65_536 });
  for (let at = 0; at < 1_100; at += 1) await objects.look(pinned(at), never);
  expect(state).toMatchObject({ opened: 1_100, whole: 1_024 });
  await objects.open(pinned(0), never); // Its bytes are used, so there is space for others.
  await objects.look(pinned(2_000), never);
  expect(state).toMatchObject({ opened: 1_101, whole: 1_025 });
});
