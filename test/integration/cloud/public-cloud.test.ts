import { expect, test } from "vitest";
import { createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import { seconds } from "../../../src/core/units.ts";

const setup = { queues: [{ name: "orders" }] };

test("users do not get the broker of a cloud", async () => {
  await using cloud = await startCloud({ setup });
  expect(Object.keys(cloud).toSorted()).toEqual(["clock", "close", "endpoint", "objects", "port"]);
});

test("a queue of a started cloud is opened without HTTP", async () => {
  await using cloud = await startCloud({ setup });
  const queue = createCloudQueue(cloud, { queue: "orders" });
  const message = { body: "one", groupId: null, dedupId: null, attributes: {} };
  await queue.sendBatch([message]);
  const request = { max: 1, waitMs: seconds(0), visibilityMs: seconds(30) };
  const deliveries = await queue.receive(request, new AbortController().signal);
  expect(deliveries.map(({ body }) => body)).toEqual(["one"]);
});

test("a copy of a cloud is rejected, because it does not name its broker", async () => {
  await using cloud = await startCloud();
  expect(() => createCloudQueue({ ...cloud }, { queue: "orders" })).toThrow(/startCloud\(\)/);
});
