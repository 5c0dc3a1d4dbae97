import { expect, test } from "vitest";
import { message } from "../../../test/contracts/broker-store.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { RENEWAL_STEPS, renewSimFile } from "./renew-file.ts";
import { SimDisk } from "./sim-disk.ts";

function seqsOf(disk: SimDisk): number[] {
  return [...disk.visible.load().messages].map(({ seq }) => seq);
}

/** Three commits; the sync of the second one failed. */
async function createHoledDisk(): Promise<SimDisk> {
  const disk = new SimDisk(createMemoryBrokerStore);
  await disk.write([message(1)], 0);
  disk.sync(disk.file);
  await disk.write([message(2)], 0);
  disk.failSync(disk.file);
  await disk.write([message(3)], 0);
  disk.sync(disk.file);
  return disk;
}

test("a failed sync is visible until a power cut, which loses everything behind it (K2)", async () => {
  const disk = await createHoledDisk();
  expect(seqsOf(disk)).toEqual([1, 2, 3]);
  disk.cutPower({ keepsName: true });
  expect(seqsOf(disk)).toEqual([1]);
  await disk.write([message(4)], 0);
  disk.sync(disk.file);
  disk.cutPower({ keepsName: true });
  expect(seqsOf(disk)).toEqual([1, 4]); // K4
});

test("a power cut after a renewal loses nothing (K3)", async () => {
  const disk = await createHoledDisk();
  expect(renewSimFile(disk, null)).toBe(true);
  disk.cutPower({ keepsName: false });
  expect(seqsOf(disk)).toEqual([1, 2, 3]);
});

test.each(RENEWAL_STEPS.flatMap((before) => [true, false].map((name) => [before, name] as const)))(
  "a power cut before the %s of a renewal keeps what was durable, name kept: %s (K3)",
  async (before, keepsName) => {
    const disk = await createHoledDisk();
    expect(renewSimFile(disk, { before, how: "power-cut", keepsName })).toBe(false);
    const isNamed = before === "sync-folder" && keepsName;
    expect(seqsOf(disk)).toEqual(isNamed ? [1, 2, 3] : [1]);
    expect(disk.file.isInDoubt).toBe(false);
  },
);
