// Big objects: bytes that stream through the server do not stay in memory. A flag limits the heap,
// and buffers are outside of it, so the test measures the resident size of the process.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { askMemory, type ChildServer, startChild } from "../../../bench/broker/child-server.ts";
import { fetchBig, sendBig } from "../../../bench/broker/objects.ts";

const MIB = 1_024 ** 2;
const BIG_BYTES = 300 * MIB;
/** Far below the object's size, and far above what buffers and the young generation need. */
const GROWTH_BYTES_MAX = 60 * MIB;
const SERVER = join(import.meta.dirname, "../../../bench/broker/server.ts");

let folder: string;
let server: ChildServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-big-"));
  server = await startChild({ args: ["--max-old-space-size=64", SERVER, folder] });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("an object far bigger than the heap is uploaded, copied and downloaded in little memory", async () => {
  const url = `http://127.0.0.1:${server.port}/big`;
  expect((await fetch(url, { method: "PUT" })).status).toBe(200);
  const before = await askMemory(server);
  const etag = await sendBig(server.port, "/big/one", BIG_BYTES);
  const headers = { "x-amz-copy-source": "/big/one" };
  expect((await fetch(`${url}/two`, { method: "PUT", headers })).status).toBe(200);
  expect(await fetchBig(server.port, "/big/two")).toBe(etag);
  const after = await askMemory(server);
  expect(after.peakRssBytes - before.peakRssBytes).toBeLessThan(GROWTH_BYTES_MAX);
});
