import { expect, test } from "vitest";
import { message } from "../../../test/contracts/broker-store.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { SimDisk } from "./sim-disk.ts";

function seqsOf(disk: SimDisk): number[] {
  return [...disk.visible.load().messages].map(({ seq }) => seq);
}

/** Three commits; the sync of the second one failed. */
async function createHoledDisk(): Promise<SimDisk> {
  const disk = new SimDisk(createMemoryBrokerStore);
  (await disk.write([message(1)], 0)).state = "synced";
  await disk.write([message(2)], 0);
  (await disk.write([message(3)], 0)).state = "synced";
  return disk;
}

test("a failed sync is visible until a power cut, which loses everything behind it (K2)", async () => {
  const disk = await createHoledDisk();
  expect(seqsOf(disk)).toEqual([1, 2, 3]);
  disk.cutPower();
  expect(seqsOf(disk)).toEqual([1]);
});

test("a power cut after a renewal loses nothing (K3)", async () => {
  const disk = await createHoledDisk();
  expect(disk.renew().map(({ changes }) => changes)).toEqual([[message(2)]]);
  disk.cutPower();
  expect(seqsOf(disk)).toEqual([1, 2, 3]);
});
