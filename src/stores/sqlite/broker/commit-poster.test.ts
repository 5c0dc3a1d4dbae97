import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadAll, message } from "../../../../test/contracts/broker-store.ts";
import type { Write } from "./broker-statements.ts";
import { createSqliteBrokerStore } from "./broker-store.ts";
import { CommitPoster, PART_TEXT_MAX } from "./commit-poster.ts";

function block(units: number): Write {
  const bytes = new Uint8Array(0);
  const row = { first: 1, count: 1, heads: bytes, groups: null, lengths: bytes };
  return ["insertBlock", { ...row, text: "a".repeat(units) }];
}

/** A thread that answers on demand. */
function createThread() {
  const posts: { readonly writes: readonly Write[]; readonly isLast: boolean }[] = [];
  const answers: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const write = (writes: readonly Write[], { isLast = true } = {}) => {
    posts.push({ writes, isLast });
    return new Promise<void>((resolve, reject) => answers.push({ resolve, reject }));
  };
  return { posts, answers, write };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a short commit is posted immediately, as one message (O1)", () => {
  const thread = createThread();
  void new CommitPoster().post(thread, [block(10), ["setSequence", 1]]);
  expect(thread.posts).toMatchObject([{ isLast: true, writes: { length: 2 } }]);
});

test("a long commit is posted part by part, and the next commit waits for it (O1, O2)", async () => {
  const thread = createThread();
  const poster = new CommitPoster();
  const half = PART_TEXT_MAX / 2;
  const long = poster.post(thread, [block(half), block(half), block(1), ["setSequence", 1]]);
  const page = new Uint8Array([1]);
  const short = poster.post(thread, [["putReceipts", 1, page]]);
  page[0] = 2; // The next commit changes the page.
  await turn();
  expect(thread.posts).toMatchObject([{ isLast: false, writes: { length: 2 } }]);
  thread.answers[0]?.resolve();
  await turn();
  expect(thread.posts[1]).toMatchObject({ isLast: true, writes: { length: 2 } });
  thread.answers[1]?.resolve();
  await long;
  await turn();
  expect(thread.posts[2]?.writes).toEqual([["putReceipts", 1, new Uint8Array([1])]]);
  thread.answers[2]?.resolve();
  await short;
  await poster.idle();
  void poster.post(thread, [["setSequence", 2]]);
  expect(thread.posts).toHaveLength(4);
});

test("a part that fails rejects its commit, and no further part is posted", async () => {
  const thread = createThread();
  const poster = new CommitPoster();
  const posted = poster.post(thread, [block(PART_TEXT_MAX), block(1)]);
  await turn();
  thread.answers[0]?.reject(new Error("full"));
  await expect(posted).rejects.toThrow("full");
  await poster.idle();
  expect(thread.posts).toHaveLength(1);
});

test("a commit in several parts is one transaction: all of it is stored, or nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-store-"));
  const body = "é".repeat(PART_TEXT_MAX / 4);
  const changes = Array.from({ length: 9 }, (_, at) => message(at + 1, { body }));
  const small = createSqliteBrokerStore({ folder, pageCountMax: 4_000 });
  loadAll(small);
  await expect(small.commit(changes)).rejects.toMatchObject({ code: "TG_STORE_FULL" });
  expect(loadAll(small).messages).toHaveLength(0);
  await small.close();
  const store = createSqliteBrokerStore({ folder });
  loadAll(store);
  const committing = store.commit(changes);
  const next = store.commit([message(10)]);
  expect(store.read(9)?.body).toBe(body); // S2 of ports/broker/broker-store.ts
  await Promise.all([committing, next]);
  expect(loadAll(store).messages).toHaveLength(10);
  expect([store.read(1)?.body, store.read(9)?.body]).toEqual([body, body]);
  await store.close();
  rmSync(folder, { recursive: true });
});
