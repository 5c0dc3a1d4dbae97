import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { findRunningCloud, writeEndpointFile } from "../../../src/run/open/endpoint-file.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("endpoint-file");
const file = join(folder, "endpoint.json");
/** No process has it: it is above the highest pid of Linux. */
const DEAD_PID = 2 ** 22 + 1;

test("a running cloud is found by its data folder, until it is closed (E1)", async () => {
  expect(await findRunningCloud(folder)).toBeNull();
  await using cloud = await startCloud({ memory: true });
  const remove = writeEndpointFile(folder, cloud.endpoint);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    endpoint: cloud.endpoint,
    pid: process.pid,
  });
  expect(await findRunningCloud(folder)).toBe(cloud.endpoint);
  remove();
  expect(existsSync(file)).toBe(false);
});

test("a file of a dead process, a silent endpoint or another program is ignored (E2)", async () => {
  const cloud = await startCloud({ memory: true });
  const { endpoint } = cloud;
  const write = (entry: unknown) => writeFileSync(file, JSON.stringify(entry));
  for (const entry of [{ endpoint, pid: DEAD_PID }, { endpoint }, "text"]) {
    write(entry);
    expect(await findRunningCloud(folder)).toBeNull();
  }
  write({ endpoint, pid: process.pid });
  await cloud.close();
  expect(await findRunningCloud(folder)).toBeNull();
});

test("closing leaves the file of a process that has taken over", async () => {
  const remove = writeEndpointFile(folder, "http://127.0.0.1:1");
  const other = JSON.stringify({ endpoint: "http://127.0.0.1:2", pid: DEAD_PID });
  writeFileSync(file, other);
  remove();
  expect(readFileSync(file, "utf8")).toBe(other);
});
