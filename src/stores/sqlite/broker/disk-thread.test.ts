import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BROKER_FILE, createBrokerFile } from "./broker-schema.ts";
import type { Write } from "./broker-statements.ts";
import { DiskThread } from "./disk-thread.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-thread-"));
  path = join(folder, BROKER_FILE);
  createBrokerFile(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (key: string, value: string): Write => ["putDocument", "c", key, value];
/** Breaks a rule of the table: no value. */
const broken = ["putDocument", "c", "broken", null] as unknown as Write;

function documents(): unknown[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare("SELECT key, value FROM document ORDER BY key").all();
  database.close();
  return rows.map(({ key, value }) => `${key}=${value}`);
}

/** A thread that runs the test's code. */
const threadOf = (code: string) =>
  new DiskThread(new URL(`data:text/javascript,${encodeURIComponent(code)}`));

test("writes run in order, each as a whole", async () => {
  const thread = new DiskThread();
  const done: string[] = [];
  await Promise.all([
    thread.open(path).then(() => done.push("open")),
    thread.write([put("a", "1"), put("b", "1")]).then(() => done.push("first")),
    thread.write([put("a", "2")]).then(() => done.push("second")),
  ]);
  expect(done).toEqual(["open", "first", "second"]);
  await thread.close();
  expect(documents()).toEqual(["a=2", "b=1"]);
});

test("a failed write leaves no trace, and all later ones fail (D1)", async () => {
  const thread = new DiskThread();
  await thread.open(path);
  await thread.write([put("a", "1")]);
  const results = await Promise.allSettled([
    thread.write([put("b", "1"), broken, put("c", "1")]),
    thread.write([put("d", "1")]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(documents()).toEqual(["a=1"]);
  await thread.close();
  expect(documents()).toEqual(["a=1"]);
});

test("the code of SQLite's error arrives with it", async () => {
  const thread = new DiskThread();
  await expect(thread.open(folder)).rejects.toMatchObject({ errcode: 14 });
  await thread.close();
});

test("a write before the file is open is rejected", async () => {
  const thread = new DiskThread();
  await expect(thread.write([put("a", "1")])).rejects.toThrow(/open database/);
  await thread.close();
});

test("a commit in flight finishes before the file is closed", async () => {
  const thread = new DiskThread();
  await thread.open(path);
  const write = thread.write([put("a", "x".repeat(1_000_000))]);
  await thread.close();
  await write;
  expect(documents()).toHaveLength(1);
});

test("closeNow waits for a thread that has not started yet (D4)", async () => {
  const thread = new DiskThread();
  const opened = thread.open(path);
  const write = thread.write([put("a", "1")]);
  expect(thread.closeNow()).toBe(true);
  expect(documents()).toEqual(["a=1"]); // All earlier requests are done, and the file is closed.
  await opened;
  await write;
});

test("closeNow returns false for a thread that never closes", async () => {
  const deaf = threadOf("import { parentPort } from 'node:worker_threads'; parentPort.ref()");
  const opened = deaf.open(path, undefined).catch((error: unknown) => error);
  expect(deaf.closeNow(50)).toBe(false);
  void opened;
});

test.each([
  ["ends by itself", "process.exit(0)", /has ended/],
  ["throws", "throw new Error('out of order')", /out of order/],
  ["does not even start", "import 'node:no-such-module'", /no-such-module/],
])("a thread that %s fails current and later requests (D3)", async (_, code, reason) => {
  const thread = threadOf(`import 'node:worker_threads';${code}`);
  const waiting = [thread.open(path), thread.write([])];
  for (const request of waiting) await expect(request).rejects.toThrow(reason);
  await expect(thread.write([put("a", "1")])).rejects.toThrow(reason);
  expect(thread.closeNow()).toBe(true); // It has no open file.
  await thread.close();
});

test("the error of an ended thread has a code, like failures of the operating system", async () => {
  const thread = threadOf("process.exit(0)");
  await expect(thread.open(path)).rejects.toHaveProperty("code");
});
