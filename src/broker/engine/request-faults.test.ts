import { expect, test } from "vitest";
import { systemClock } from "../../platform/system-clock.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import type { FaultSpec } from "../model/fault-plan.ts";
import { createBroker } from "./create-broker.ts";
import { createFaultyBroker } from "./request-faults.ts";

async function createWorld(...faults: Partial<FaultSpec>[]) {
  const store = createMemoryBrokerStore();
  const ports = { store, clock: systemClock, random: systemRandom, turn: systemTurn };
  const broker = await createBroker(ports, { account: "000000000000", region: "us-east-1" });
  await broker.submit("createQueue", { name: "q", attributes: {}, tags: {} });
  for (const fault of faults) {
    broker.faults.put({ kind: "throttle", target: { queue: "q" }, probability: 1, ...fault });
  }
  const faulty = createFaultyBroker(broker);
  const entry = {
    body: "x",
    sizeBytes: 1,
    attributes: null,
    traceHeader: null,
    groupId: null,
    dedupId: null,
    delayMs: null,
  };
  const counts = async () => {
    const outcome = await broker.submit("countQueues", { prefix: "" });
    return outcome.ok ? outcome.value.queues[0]?.visible : null;
  };
  const send = (batch: boolean) => faulty.submit("send", { queue: "q", entries: [entry], batch });
  return { broker, faulty, counts, send };
}

test.each([
  ["throttle", "Throttled"],
  ["unavailable", "ServiceUnavailable"],
] as const)(
  "%s refuses an in-process operation before anything happens (I1)",
  async (kind, name) => {
    const { counts, send } = await createWorld({ kind });
    expect(await send(false)).toMatchObject({ ok: false, fault: { name } });
    expect(await counts()).toBe(0);
  },
);

test("a dropped acknowledgement rejects, and the operation has been committed (I5)", async () => {
  const { counts, send } = await createWorld({ kind: "drop-acknowledgement" });
  await expect(send(false)).rejects.toMatchObject({ code: "TG_RESPONSE_DROPPED", retry: "later" });
  expect(await counts()).toBe(1);
});

test("faults match actions by AWS's names, batches included", async () => {
  const { send, faulty } = await createWorld({ actions: ["SendMessageBatch", "PurgeQueue"] });
  expect(await send(false)).toMatchObject({ ok: true });
  expect(await send(true)).toMatchObject({ ok: false });
  expect(await faulty.submit("purgeQueue", { queue: "q" })).toMatchObject({ ok: false });
  expect(await faulty.submit("deleteQueue", { queue: "q" })).toMatchObject({ ok: true });
});

test("an operation without a queue is never hit, and the broker itself is unchanged (I4)", async () => {
  const { broker, faulty } = await createWorld({ target: { queue: "*" } });
  const all = { prefix: "", page: null };
  expect(await faulty.submit("listQueues", all)).toMatchObject({ ok: true });
  expect(await faulty.submit("findSigningIdentity", null)).toMatchObject({ ok: true });
  expect(await broker.submit("purgeQueue", { queue: "q" })).toMatchObject({ ok: true });
  expect([faulty.health, faulty.account]).toEqual(["ok", "000000000000"]);
});
