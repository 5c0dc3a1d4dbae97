import fc from "fast-check";
import { expect, test } from "vitest";
import { EngineBench } from "../../../test/support/broker/engine-bench.ts";
import { arn, entry, inGroup } from "../../../test/support/broker/model-bench.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { durationMs } from "../../core/units.ts";
import type { ReceivedCopy } from "../model/operations.ts";
import { dedupDigest } from "../model/sqs/dedup-window.ts";

const QUEUES = ["q", "dead", "q.fifo", "dead.fifo"];

function redriveTo(target: string) {
  const deadLetterTargetArn = arn(target);
  return { RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 }) };
}

/** Everything that reads can see of a broker. */
async function viewOf(bench: EngineBench) {
  const queues = await bench.ok("listQueues", { prefix: "", page: null });
  const views = queues.names.map(async (queue) => ({
    attributes: await bench.ok("getQueueAttributes", { queue, names: ["All"] }),
    tags: await bench.ok("listQueueTags", { queue }),
    messages: await bench.ok("peek", { queue, afterSeq: 0, limit: 1_000 }),
    tasks: await bench.ok("listMoveTasks", { sourceArn: arn(queue), limit: 10 }),
  }));
  return {
    queues: await Promise.all(views),
    counts: await bench.ok("countQueues", { prefix: "" }),
  };
}

/** The ids that a queue must still have, from the store: digest -> message id. */
function liveIds(bench: EngineBench, queue: string): Map<string, string> {
  const { documents, dedups } = bench.store.load();
  const record = [...documents].find(
    ({ collection, value }) => collection === "queue" && JSON.parse(value).name === queue,
  );
  const live = [...dedups].filter(
    (dedupIds) =>
      String(dedupIds.queue) === record?.key && dedupIds.acceptedAt > bench.clock.now() - 300_000,
  );
  return new Map(live.map(({ digest, messageId }) => [digest, messageId]));
}

/** One random client operation. */
async function doSomething(
  bench: EngineBench,
  random: ReturnType<typeof createSeededRandom>,
  held: { queue: string; delivery: ReceivedCopy }[],
): Promise<void> {
  const queue = QUEUES[random.below(QUEUES.length)] as string;
  const fifo = queue.endsWith(".fifo");
  const kind = random.below(13);
  const body = `${random.below(12)}`;
  if (kind < 4) {
    const delayMs = random.below(3) === 0 ? durationMs(2_000) : null;
    const group = `g${random.below(3)}`;
    await bench.send(queue, fifo ? inGroup(group, body) : entry(body, { delayMs, groupId: group }));
  } else if (kind < 7) {
    const visibilityMs = random.below(4) === 0 ? durationMs(0) : null;
    const attemptId = fifo && random.below(2) === 0 ? `attempt-${random.below(3)}` : null;
    const outcome = await bench.broker.submit("receive", {
      queue,
      max: 1 + random.below(3),
      waitMs: durationMs(0),
      visibilityMs,
      attemptId,
    });
    if (outcome.ok) held.push(...outcome.value.deliveries.map((delivery) => ({ queue, delivery })));
  } else if (kind < 10 && held.length > 0) {
    const [one] = held.splice(random.below(held.length), 1);
    if (one === undefined) return;
    const handle = one.delivery.receiptHandle;
    if (kind < 9) await bench.ok("delete", { queue: one.queue, handles: [handle] });
    const entries = [{ handle, visibilityMs: durationMs(random.below(60) * 1_000) }];
    if (kind === 9) await bench.ok("changeVisibility", { queue: one.queue, entries });
  } else if (kind === 10) {
    await bench.pass(random.below(40_000));
  } else if (kind === 11) {
    const tags = { [`k${random.below(3)}`]: body };
    await bench.ok("tagQueue", { queue, tags });
    const attributes = { DelaySeconds: `${random.below(3)}` };
    await bench.ok("setQueueAttributes", { queue, attributes });
  } else {
    const sourceArn = arn(fifo ? "dead.fifo" : "dead");
    if (random.below(2) === 0) await bench.broker.submit("purgeQueue", { queue });
    else {
      const input = { sourceArn, destinationArn: null, perSecondMax: 1 };
      await bench.broker.submit("startMoveTask", input);
    }
  }
}

async function openWithQueues(cacheBytes?: number): Promise<EngineBench> {
  const bench = await EngineBench.open(cacheBytes === undefined ? {} : { cacheBytes });
  await bench.create("dead");
  await bench.create("dead.fifo");
  await bench.create("q", redriveTo("dead"));
  await bench.create("q.fifo", redriveTo("dead.fifo"));
  return bench;
}

test("a second broker on the same store gives the same answers (Y1, Y2)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 120 }), async (seed, steps) => {
      const random = createSeededRandom(seed);
      const first = await openWithQueues(seed % 2 === 0 ? 0 : undefined);
      const held: { queue: string; delivery: ReceivedCopy }[] = [];
      for (let remaining = steps; remaining > 0; remaining -= 1)
        await doSomething(first, random, held);
      await first.broker.idle();
      const { clock, store } = first;
      const second = await EngineBench.open({ store, clock, seed: 2 });
      expect(await viewOf(second)).toEqual(await viewOf(first));
      // Old handles are still valid, and duplicates are still recognised.
      for (const queue of ["q.fifo", "dead.fifo"]) {
        const dedupIds = liveIds(first, queue);
        const fresh = new Set(dedupIds.values());
        for (let number = 0; number < 12; number += 1) {
          const body = `${number}`;
          const { results } = await second.send(queue, inGroup("g0", body));
          const id = results[0]?.ok ? results[0].value.messageId : "";
          const original = dedupIds.get(dedupDigest(null, body).toString("hex"));
          if (original === undefined) expect(fresh.has(id)).toBe(false);
          else expect(id).toBe(original);
        }
      }
      for (const { queue, delivery } of held) {
        const handles = [delivery.receiptHandle];
        const { faults } = await second.ok("delete", { queue, handles });
        expect(faults[0]?.name).not.toBe("ReceiptHandleIsInvalid");
      }
    }),
    { numRuns: 100 },
  );
});

test("duplicates are recognised after a restart, to the millisecond", async () => {
  const first = await openWithQueues();
  const original = await first.send("q.fifo", inGroup("g", "a"));
  const { clock, store } = first;
  clock.advance(299_999);
  const second = await EngineBench.open({ store, clock });
  expect(await second.send("q.fifo", inGroup("g", "a"))).toEqual(original);
  clock.advance(1);
  const third = await EngineBench.open({ store, clock });
  expect(await third.send("q.fifo", inGroup("g", "a"))).not.toEqual(original);
});

test("a clock set back before a restart hides no message and lengthens no window", async () => {
  const first = await openWithQueues();
  await first.send("q", entry("hidden"));
  const original = await first.send("q.fifo", inGroup("g", "a"));
  expect(await first.receive("q")).toHaveLength(1);
  const { clock, store } = first;
  clock.setWall(clock.now() - 3_600_000);
  const second = await EngineBench.open({ store, clock });
  await second.send("q.fifo", inGroup("g", "b"));
  expect(await second.send("q.fifo", inGroup("g", "a"))).toEqual(original);
  clock.advance(30_000);
  expect(await second.receive("q")).toHaveLength(1);
  clock.advance(270_000);
  expect(await second.send("q.fifo", inGroup("g", "a"))).not.toEqual(original);
});

test("a clock set back before a restart lengthens no wait after a purge or deletion", async () => {
  const bench = await EngineBench.open();
  await bench.create("kept");
  await bench.create("gone");
  await bench.pass(3_600_000);
  await bench.ok("purgeQueue", { queue: "kept" });
  await bench.ok("deleteQueue", { queue: "gone" });
  // An hour back: the messages are gone, and only the queues have the later time.
  const again = await EngineBench.open({ store: bench.store });
  await again.pass(59_999);
  const early = await again.broker.submit("purgeQueue", { queue: "kept" });
  expect(early).toMatchObject({ ok: false, fault: { name: "PurgeQueueInProgress" } });
  await again.pass(1);
  await again.ok("purgeQueue", { queue: "kept" });
  await again.create("gone");
});

test("purged and deleted messages do not come back, even if their bytes are on disk", async () => {
  const first = await openWithQueues();
  await first.send("q", entry("purged"));
  await first.send("dead", entry("deleted"));
  await first.broker.idle();
  const { store, clock } = first;
  // Deletions of garbage never reach the disk: the crash comes first.
  const bytes = new Map([...store.load().messages].map((head) => [head.seq, store.read(head.seq)]));
  const heads = [...store.load().messages];
  await first.ok("purgeQueue", { queue: "q" });
  await first.ok("deleteQueue", { queue: "dead" });
  await first.broker.idle();
  const back = heads.map((head) => {
    const content = bytes.get(head.seq) ?? { id: "", body: "", detail: null };
    return { kind: "put-message", head, content } as const;
  });
  await store.commit(back);
  const second = await EngineBench.open({ store, clock });
  const { queues } = await second.ok("countQueues", { prefix: "" });
  expect(queues.map(({ visible }) => visible)).toEqual([0, 0, 0]);
  await second.broker.idle();
  expect([...store.load().messages]).toEqual([]);
  await expect(second.create("dead")).rejects.toThrow("QueueDeletedRecently");
});

test("no number is used twice, not even after a restart of an empty broker", async () => {
  const first = await openWithQueues();
  const before = await first.send("q.fifo", inGroup("g", "a"));
  await first.ok("deleteQueue", { queue: "q.fifo" });
  await first.broker.idle();
  const { clock, store } = first;
  clock.advance(60_000);
  const second = await EngineBench.open({ store, clock });
  await second.create("q.fifo");
  const after = await second.send("q.fifo", inGroup("g", "a"));
  const numbers = [before, after].map(({ results: [sent] }) =>
    sent?.ok ? (sent.value.sequenceNumber ?? "") : "",
  );
  expect((numbers[0] ?? "") < (numbers[1] ?? "")).toBe(true);
  const documents = [...store.load().documents].filter(({ collection }) => collection === "queue");
  expect(new Set(documents.map(({ key }) => key)).size).toBe(documents.length);
  expect(documents.map(({ key }) => Number(key)).sort()).toEqual([1, 2, 3, 5]);
});

test("a new delay of a long FIFO queue is one small commit, and holds after a restart", async () => {
  const first = await openWithQueues();
  for (let remaining = 30; remaining > 0; remaining -= 1) {
    const bodies = Array.from({ length: 10 }, (_, index) => `${remaining}-${index}`);
    await first.send("q.fifo", ...bodies.map((body) => inGroup("g", body)));
  }
  const before = first.store.commits.length;
  await first.ok("setQueueAttributes", { queue: "q.fifo", attributes: { DelaySeconds: "60" } });
  const changes = first.store.commits.slice(before).flat();
  expect(changes.map(({ kind }) => kind)).toEqual(["put-document"]);
  await first.pass(1_000);
  await first.send("q.fifo", inGroup("g", "last"));
  const { clock, store } = first;
  const second = await EngineBench.open({ store, clock });
  expect(await viewOf(second)).toEqual(await viewOf(first));
  expect(await second.receive("q.fifo")).toEqual([]);
  clock.advance(59_000);
  expect(await second.receive("q.fifo")).toHaveLength(10);
});

test("a restart does not delay redriven messages, even if their queue has a delay", async () => {
  const first = await openWithQueues();
  await first.send("q.fifo", inGroup("g", "a"));
  for (let remaining = 3; remaining > 0; remaining -= 1) {
    await first.receive("q.fifo");
    await first.pass(30_000);
  }
  await first.ok("setQueueAttributes", { queue: "q.fifo", attributes: { DelaySeconds: "900" } });
  const task = { sourceArn: arn("dead.fifo"), destinationArn: null, perSecondMax: null };
  await first.ok("startMoveTask", task);
  await first.broker.idle();
  const { clock, store } = first;
  const second = await EngineBench.open({ store, clock });
  expect((await second.receive("q.fifo")).map(({ body }) => body)).toEqual(["a"]);
});

test("the secret of the first start is kept, whatever is drawn later", async () => {
  const first = await openWithQueues();
  await first.send("q", entry("a"));
  const [delivery] = await first.receive("q");
  const { clock, store } = first;
  const second = await EngineBench.open({ store, clock, seed: 99 });
  const handles = [delivery?.receiptHandle ?? ""];
  expect(await second.ok("delete", { queue: "q", handles })).toEqual({ faults: [null] });
  const { queues } = await second.ok("countQueues", { prefix: "q" });
  expect(queues[0]).toMatchObject({ visible: 0, inFlight: 0 });
});
