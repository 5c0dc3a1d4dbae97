import { expect, test } from "vitest";
import { EngineBench, engineTurns, watch } from "../../../../test/support/broker/engine-bench.ts";
import { entry } from "../../../../test/support/broker/model-bench.ts";
import { diskFullError, isDiskFull } from "../../../core/errors.ts";
import type { BrokerStore } from "../../../ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../../stores/memory/broker-store.ts";

/** A store on a disk that the test fills and empties. */
function createSmallStore() {
  const memory = createMemoryBrokerStore();
  const disk = { full: false, noSpaceFor: 0, looks: async () => !disk.full };
  const store: BrokerStore = {
    objects: memory.objects,
    load: () => memory.load(),
    read: (seq) => memory.read(seq),
    close: () => memory.close(),
    async commit(changes) {
      if (disk.noSpaceFor === 0 || changes.length === 0) return memory.commit(changes);
      disk.noSpaceFor -= 1;
      disk.full = true;
      throw diskFullError();
    },
    space: {
      get full() {
        return disk.full;
      },
      regain: () => disk.looks(),
    },
  };
  return { disk, store };
}

async function openSmall() {
  const { disk, store } = createSmallStore();
  const bench = await EngineBench.open({ store });
  await bench.create("q");
  await bench.send("q", entry("old"));
  return { disk, bench };
}

test("a delete that shares a commit with the send that fills the disk succeeds (A2)", async () => {
  const { disk, bench } = await openSmall();
  const [message] = await bench.receive("q");
  const loads = bench.store.loads;
  disk.noSpaceFor = 1;
  const send = bench.send("q", entry("new"));
  const gone = bench.ok("delete", { queue: "q", handles: [message?.receiptHandle ?? ""] });
  await expect(send).rejects.toSatisfy(isDiskFull);
  expect((await gone).faults).toEqual([null]);
  expect(bench.store.loads).toBe(loads + 1);
});

test("on a full disk, operations that need space are rejected without a reload (A1)", async () => {
  const { disk, bench } = await openSmall();
  disk.full = true;
  const loads = bench.store.loads;
  await expect(bench.send("q", entry("new"))).rejects.toSatisfy(isDiskFull);
  expect((await bench.receive("q")).map(({ body }) => body)).toEqual(["old"]);
  expect((await bench.ok("purgeQueue", { queue: "q" })) ?? null).toBe(null);
  expect([bench.store.loads, bench.broker.health]).toEqual([loads, "full"]);
});

test("operations that waited for a look at the disk run once there is space (A1)", async () => {
  const { disk, bench } = await openSmall();
  disk.full = true;
  let endLook: (full: boolean) => void = () => {};
  disk.looks = () =>
    new Promise((resolve) => {
      endLook = (regained) => {
        disk.full = !regained;
        resolve(regained);
      };
    });
  const sent = watch(bench.send("q", entry("new")));
  await engineTurns();
  expect(sent.state).toBe("pending");
  endLook(true);
  await engineTurns();
  expect(sent.state).toBe("resolved");
  const deliveries = await bench.receive("q");
  expect(deliveries.map(({ body }) => body).sort()).toEqual(["new", "old"]);
});

test("a second commit without space is a failure with a pause (A2)", async () => {
  const { disk, bench } = await openSmall();
  const [message] = await bench.receive("q");
  const handles = [message?.receiptHandle ?? ""];
  disk.noSpaceFor = 2;
  await expect(bench.ok("delete", { queue: "q", handles })).rejects.toSatisfy(isDiskFull);
  expect([disk.noSpaceFor, bench.broker.health]).toEqual([0, "failing"]);
});
