import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, open as openFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { chunksOf, describeBlobStore, keep, textOf } from "../../../test/contracts/blob-store.ts";
import { createFileBlobStore } from "./blob-store.ts";

const root = mkdtempSync(join(tmpdir(), "tidegate-blobs-"));
let folder = root;
beforeEach(() => {
  folder = mkdtempSync(join(root, "data-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function open(errors: unknown[] = []) {
  return createFileBlobStore({ folder, onError: (error) => errors.push(error) });
}

/** Every file below the blobs, as the path it has there. */
function files(): string[] {
  return readdirSync(join(folder, "blobs"), { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(folder, "blobs", name)).isFile(),
  );
}

describeBlobStore("file", () => open());

test("a blob gets its final name when it is published, and leaves no other file", async () => {
  const store = await open();
  const staged = await store.stage(chunksOf("hello"));
  expect(files()).toEqual([join("new", staged.id)]);
  await staged.publish();
  expect(files()).toEqual([join(staged.id.slice(0, 2), staged.id)]);
  expect(staged.id).toMatch(/^[0-9a-f]{32}$/);
  await store.close();
});

test("folders that could not be created are created by the next call", async () => {
  const store = await open();
  rmSync(join(folder, "blobs"), { recursive: true });
  const early = store.stage(chunksOf("early"));
  const cause = expect.objectContaining({ code: "ENOENT" });
  await expect(early).rejects.toMatchObject({ code: "TG_STORE_UNAVAILABLE", cause });
  mkdirSync(join(folder, "blobs", "new"), { recursive: true });
  await (await store.stage(chunksOf("late"))).publish();
  expect(files()).toHaveLength(1);
  await store.close();
});

test("folders whose names could not be synced are created again by the next call (F8)", async () => {
  const store = await open();
  mkdirSync(join(folder, "blobs", "ab"));
  const handle = await openFile(folder);
  await handle.close();
  const failure = Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });
  const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, "sync");
  sync.mockRejectedValueOnce(failure);
  await expect(store.stage(chunksOf("early"))).rejects.toThrow("EIO");
  sync.mockRestore();
  expect(readdirSync(join(folder, "blobs")).sort()).toEqual(["ab", "new"]);
  await (await store.stage(chunksOf("late"))).publish();
  expect(files()).toHaveLength(1);
  await store.close();
});

test("an unusable folder is an operating failure with a reason", async () => {
  writeFileSync(join(folder, "blobs"), "no folder");
  await expect(open()).rejects.toMatchObject({
    code: "TG_STORE_UNAVAILABLE",
    message: expect.stringMatching(/^data folder .* is unavailable: E/),
  });
});

test("a failed or discarded stage leaves no file, published or not", async () => {
  const store = await open();
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(1_000_000);
    throw new Error("gone");
  }
  await expect(store.stage(broken())).rejects.toThrow("gone");
  const staged = await store.stage(chunksOf("a"));
  await staged.discard();
  const published = await store.stage(chunksOf("b"));
  await published.publish();
  await published.discard();
  expect(files()).toEqual([]);
  await store.close();
});

test("removed blobs are gone once the store has closed", async () => {
  const store = await open();
  const { blob } = await keep(store, "a");
  store.remove([blob, "0".repeat(32)]);
  await store.close();
  expect(files()).toEqual([]);
});

test("a sweep spares unreferenced new blobs and foreign files (F4)", async () => {
  mkdirSync(join(folder, "blobs", "ab"), { recursive: true });
  writeFileSync(join(folder, "blobs", ".DS_Store"), "keep me");
  writeFileSync(join(folder, "blobs", "ab", "notes.txt"), "keep me");
  writeFileSync(join(folder, "blobs", "ab", `ab${"0".repeat(30)}`), "left by a crash");
  const store = await open();
  const staged = await store.stage(chunksOf("fresh"));
  await staged.publish();
  await store.sweep(() => false);
  const remaining = files();
  const foreign = [".DS_Store", join("ab", "notes.txt")];
  expect(remaining.sort()).toEqual([...foreign, join(staged.id.slice(0, 2), staged.id)].sort());
  staged.keep();
  await store.sweep(() => false);
  expect(files().sort()).toEqual(foreign);
  await store.close();
});

test("unpublished files are deleted at the next start (F3)", async () => {
  const first = await open();
  const half = await first.stage(chunksOf("half"));
  expect(files()).toHaveLength(1);
  const second = await open();
  expect(files()).toEqual([]);
  await half.discard();
  await second.close();
  await first.close();
});

test.each(["../broker.sqlite", "..", "a/b", "", "AB".repeat(16), `${"0".repeat(31)}\0`])(
  "the name %j reaches no file (F1)",
  async (blob) => {
    const errors: unknown[] = [];
    const store = await open(errors);
    const read = async () => textOf(store.read([{ blob, sizeBytes: 1 }], { from: 0, through: 0 }));
    await expect(read()).rejects.toThrow("is not a blob id");
    await store.close();
  },
);

test("blobs of one moment share a folder, and its sync", async () => {
  const store = await open();
  const blobs = await Promise.all(Array.from({ length: 40 }, () => keep(store, "x")));
  const folders = new Set(blobs.map(({ blob }) => blob.slice(0, 2)));
  expect(folders.size).toBeLessThanOrEqual(2);
  expect(new Set(blobs.map(({ blob }) => blob)).size).toBe(40);
  await store.close();
});
