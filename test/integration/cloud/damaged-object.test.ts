// Damaged bytes of an object: the download of that object fails or does not match its checksum, and
// all other objects stay readable.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { createChecksum } from "../../../src/core/encoding/checksum.ts";

const BROKEN = "b".repeat(300_000);
const SOUND = "s".repeat(300_000);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-damaged-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function crcOf(bytes: Uint8Array): string {
  const sum = createChecksum("CRC64NVME");
  sum.update(bytes);
  return Buffer.from(sum.digest()).toString("base64");
}

/** Starts a cloud with two objects, and passes the path of the first one's bytes to `damage`. */
async function startDamaged(damage: (path: string) => void) {
  const cloud = await startCloud({ data: folder, onError: () => undefined });
  const put = (path: string, body: string) =>
    fetch(`${cloud.endpoint}${path}`, { method: "PUT", body });
  await put("/bucket", "");
  await put("/bucket/broken", BROKEN);
  await put("/bucket/sound", SOUND);
  const root = join(folder, "blobs");
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  const files = names.map((name) => join(root, name)).filter((path) => statSync(path).isFile());
  const broken = files.find((path) => readFileSync(path, "utf8").startsWith("b"));
  damage(broken ?? "");
  const sound = await fetch(`${cloud.endpoint}/bucket/sound`);
  expect(await sound.text()).toBe(SOUND);
  const headers = { "x-amz-checksum-mode": "ENABLED" };
  return { cloud, get: () => fetch(`${cloud.endpoint}/bucket/broken`, { headers }) };
}

test("bytes that cannot be read fail the download, and no other", async () => {
  const { cloud, get } = await startDamaged((path) => writeFileSync(path, "b".repeat(200_000)));
  const download = async () => (await get()).text();
  await expect(download()).rejects.toThrow();
  await cloud.close();
});

test("a flipped bit does not match the checksum of the response", async () => {
  const { cloud, get } = await startDamaged((path) => {
    const bytes = readFileSync(path);
    bytes[100_000] = 0x62 ^ 1;
    writeFileSync(path, bytes);
  });
  const reply = await get();
  const sum = reply.headers.get("x-amz-checksum-crc64nvme");
  expect(sum).toBe(crcOf(Buffer.from(BROKEN)));
  expect(sum).not.toBe(crcOf(new Uint8Array(await reply.arrayBuffer())));
  await cloud.close();
});
