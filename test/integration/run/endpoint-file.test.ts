import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import {
  findFolderCloud,
  isEmbeddedCloud,
  writeEndpointFile,
} from "../../../src/run/open/endpoint-file.ts";
import { type FolderLock, lockFolder } from "../../../src/stores/sqlite/broker/folder-lock.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("endpoint-file");
const file = join(folder, "endpoint.json");
/** No process has it: it is above the highest pid of Linux. */
const DEAD_PID = 2 ** 22 + 1;
const HEALTH = JSON.stringify({ service: "tidegate" });

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  rmSync(file, { force: true });
  rmSync(join(folder, "broker.lock"), { force: true });
});

function locked(): FolderLock {
  const lock = lockFolder(folder);
  closers.push(() => lock.release());
  return lock;
}

async function served(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const write = (entry: unknown) => writeFileSync(file, JSON.stringify(entry));

test("a running cloud is found by its data folder, until it is closed (E1)", async () => {
  expect(await findFolderCloud(folder)).toBeNull();
  const cloud = await startCloud({ data: folder });
  const { endpoint } = cloud;
  const remove = writeEndpointFile(folder, endpoint);
  const entry = { endpoint, pid: process.pid };
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(entry);
  expect(await findFolderCloud(folder)).toEqual({ endpoint, data: folder, failure: null });
  remove();
  expect(existsSync(file)).toBe(false);
  await cloud.close();
});

test("the file of an ended process, or one that says nothing, is ignored (E2)", async () => {
  for (const entry of [{ endpoint: "http://127.0.0.1:1", pid: DEAD_PID }, { pid: 1 }, "text"]) {
    write(entry);
    expect(await findFolderCloud(folder)).toBeNull();
  }
});

test("the lock on the folder decides whether its cloud runs, not the process id (E2)", async () => {
  const endpoint = await served((_, reply) => void reply.end(HEALTH));
  const lock = locked();
  lock.keep();
  write({ endpoint, pid: DEAD_PID }); // As seen from another container.
  expect(await findFolderCloud(folder)).toMatchObject({ endpoint, failure: null });
  lock.release();
  closers.pop();
  write({ endpoint, pid: process.pid }); // Another program has the process id now.
  expect(await findFolderCloud(folder)).toBeNull();
});

test("a cloud that answers 503, as on a full disk, is the cloud (E4)", async () => {
  locked();
  const endpoint = await served((_, reply) => void reply.writeHead(503).end(HEALTH));
  write({ endpoint, pid: process.pid });
  expect(await findFolderCloud(folder)).toMatchObject({ endpoint, failure: null });
  expect(await isEmbeddedCloud(endpoint)).toBe(true);
});

test("a cloud that runs and does not answer has a failure that says so (E4)", async () => {
  locked();
  const silent = await served(() => {});
  write({ endpoint: silent, pid: process.pid });
  const failureOf = async (msMax?: number) => (await findFolderCloud(folder, msMax))?.failure;
  expect(await failureOf(50)).toMatch(/ of process \d+ did not answer within 0\.05 s$/);
  write({ endpoint: "http://127.0.0.1:1", pid: process.pid });
  expect(await failureOf()).toMatch(/ did not answer \(/);
  const other = await served((_, reply) => void reply.writeHead(200).end("hello"));
  write({ endpoint: other, pid: process.pid });
  expect(await failureOf()).toMatch(/ is another program, which answered 200$/);
});

test("a cloud that runs and has no file has a failure that says so (E3)", async () => {
  const failure = "no endpoint.json says where a cloud answers";
  const cloud = await startCloud({ data: folder });
  closers.push(() => cloud.close());
  expect(await findFolderCloud(folder)).toEqual({ data: folder, endpoint: null, failure });
  write("text");
  expect(await findFolderCloud(folder)).toEqual({ data: folder, endpoint: null, failure });
});

test("closing leaves the file of a process that has taken over", async () => {
  const remove = writeEndpointFile(folder, "http://127.0.0.1:1");
  const other = JSON.stringify({ endpoint: "http://127.0.0.1:2", pid: DEAD_PID });
  writeFileSync(file, other);
  remove();
  expect(readFileSync(file, "utf8")).toBe(other);
});
