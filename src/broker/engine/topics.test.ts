import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createTopicWorld,
  publishEntry,
  QUEUE_PREFIX,
  type TopicWorld,
} from "../../../test/support/topic-world.ts";

const MINUTE_MS = 60_000;

/** A FIFO topic with content-based deduplication and two FIFO queues. */
async function fifoWorld(attributes: Record<string, string> = {}): Promise<TopicWorld> {
  const world = await createTopicWorld();
  await world.topic("t.fifo", { ContentBasedDeduplication: "true", ...attributes });
  for (const queue of ["a.fifo", "b.fifo"]) {
    await world.queue(queue);
    await world.subscribe("t.fifo", queue, { RawMessageDelivery: "true" });
  }
  return world;
}

const bodiesOf = (deliveries: readonly { body: string }[]) => deliveries.map(({ body }) => body);

describe("a publish is one commit", () => {
  test("every copy, the id and the archive are in the same one", async () => {
    await using world = await fifoWorld({ ArchivePolicy: '{"MessageRetentionPeriod":"1"}' });
    const before = world.commits.length;
    await world.publish("t.fifo", { body: "x", groupId: "g" });
    const commits = world.commits.slice(before);
    expect(commits).toHaveLength(1);
    const kinds = commits[0]?.map(({ kind }) => kind).sort();
    expect(kinds).toEqual([
      "put-dedup", // Of each queue,
      "put-dedup",
      "put-dedup", // and of the topic.
      "put-message",
      "put-message",
      "put-message", // The archive's.
      "set-sequence",
    ]);
  });

  test("when the commit fails, neither a copy nor the id is stored", async () => {
    await using world = await fifoWorld();
    world.failNextCommit();
    await expect(world.publish("t.fifo", { body: "x", groupId: "g" })).rejects.toThrow("no space");
    await world.clock.advance(1_000);
    await world.publish("t.fifo", { body: "x", groupId: "g" });
    expect(bodiesOf(await world.drain("a.fifo"))).toEqual(["x"]);
    expect(bodiesOf(await world.drain("b.fifo"))).toEqual(["x"]);
  });

  test("after a restart every acknowledged copy is there once", async () => {
    let world = await fifoWorld();
    for (let n = 0; n < 20; n += 1) {
      await world.publish("t.fifo", { body: `m${n}`, groupId: `g${n % 3}` });
      if (n % 5 === 4) world = await world.reopen();
    }
    await using last = world;
    for (const queue of ["a.fifo", "b.fifo"]) {
      const bodies = bodiesOf(await last.drain(queue)).sort();
      expect(bodies).toEqual(Array.from({ length: 20 }, (_, n) => `m${n}`).sort());
    }
  });
});

describe("a FIFO topic's deduplication", () => {
  test("lasts five minutes, even if queues are purged, deleted or added", async () => {
    await using world = await fifoWorld();
    const first = await world.publish("t.fifo", { body: "x", groupId: "g" });
    await world.ask("purgeQueue", { queue: "a.fifo" }); // Its own window is empty now.
    await world.queue("c.fifo");
    await world.subscribe("t.fifo", "c.fifo");
    await world.clock.advance(5 * MINUTE_MS - 1);
    expect(await world.publish("t.fifo", { body: "x", groupId: "g" })).toEqual(first);
    expect(await world.drain("a.fifo")).toEqual([]);
    expect(await world.drain("c.fifo")).toEqual([]);
    await world.clock.advance(1);
    const later = await world.publish("t.fifo", { body: "x", groupId: "g" });
    expect(later.messageId).not.toBe(first.messageId);
    expect(bodiesOf(await world.drain("a.fifo"))).toEqual(["x"]);
  });

  test("survives a restart, and is removed from disk when it ends", async () => {
    const world = await fifoWorld();
    const first = await world.publish("t.fifo", { body: "x", groupId: "g" });
    const second = await world.reopen();
    expect(await second.publish("t.fifo", { body: "x", groupId: "g" })).toEqual(first);
    await second.clock.advance(7 * MINUTE_MS);
    const expired = second.commits.flat().filter(({ kind }) => kind === "expire-dedup");
    expect(expired).toHaveLength(3); // The topic's window and both queues'.
    await using third = await second.reopen();
    const later = await third.publish("t.fifo", { body: "x", groupId: "g" });
    expect(later.messageId).not.toBe(first.messageId);
  });

  test("by content compares only the message; an explicit id overrides it", async () => {
    await using world = await fifoWorld();
    const one = { a: { type: "String", value: "1" } };
    const two = { a: { type: "String", value: "2" } };
    await world.publish("t.fifo", { body: "x", groupId: "g", attributes: one });
    await world.publish("t.fifo", { body: "x", groupId: "g", attributes: two });
    await world.publish("t.fifo", { body: "x", groupId: "g", dedupId: "own" });
    await world.publish("t.fifo", { body: "y", groupId: "g", dedupId: "own" });
    const deliveries = await world.drain("a.fifo");
    expect(deliveries.map(({ body, attributes }) => [body, attributes])).toEqual([
      ["x", one],
      ["x", null],
    ]);
  });

  test("applies per topic, or per group if the topic is configured so", async () => {
    for (const [scope, copies] of [
      ["Topic", 1],
      ["MessageGroup", 2],
    ] as const) {
      await using world = await fifoWorld({ FifoThroughputScope: scope });
      // The queue must not drop what the topic accepts.
      const scoped = { DeduplicationScope: "messageGroup" };
      await world.queue("c.fifo", scoped);
      await world.subscribe("t.fifo", "c.fifo");
      await world.publish("t.fifo", { body: "x", groupId: "g1" });
      await world.publish("t.fifo", { body: "x", groupId: "g2" });
      expect(await world.drain("c.fifo")).toHaveLength(copies);
    }
  });
});

test("every queue gets the messages of a group in the order of their publishing", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("g1", "g2", "g3"), fc.boolean()), { maxLength: 25 }),
      async (plan) => {
        await using world = await fifoWorld();
        // All at once: the order is that in which they reach the broker.
        const published = plan.map(([groupId], n) =>
          world.publish("t.fifo", { body: `${groupId} ${n}`, groupId }),
        );
        const numbers = (await Promise.all(published)).map(({ sequenceNumber }) => sequenceNumber);
        expect(numbers).toEqual(numbers.toSorted());
        for (const queue of ["a.fifo", "b.fifo"]) {
          const deliveries = await world.drain(queue);
          for (const group of ["g1", "g2", "g3"]) {
            const received = bodiesOf(deliveries).filter((body) => body.startsWith(group));
            const sent = plan.flatMap(([id], n) => (id === group ? [`${id} ${n}`] : []));
            expect(received).toEqual(sent);
          }
        }
      },
    ),
    { numRuns: 15 },
  );
});

describe("groups and ids", () => {
  test("are passed from FIFO topics to FIFO queues, and not to standard queues", async () => {
    await using world = await fifoWorld();
    await world.queue("standard");
    await world.subscribe("t.fifo", "standard");
    await world.publish("t.fifo", { body: "x", groupId: "g", dedupId: "d" });
    const [fifo] = await world.drain("a.fifo");
    const [standard] = await world.drain("standard");
    expect(fifo).toMatchObject({ groupId: "g", dedupId: "d" });
    expect(standard).toMatchObject({ groupId: null, dedupId: null, sequenceNumber: null });
  });

  test("a standard topic passes a group on to standard queues", async () => {
    await using world = await createTopicWorld();
    await world.topic("t");
    await world.queue("q");
    await world.subscribe("t", "q", { RawMessageDelivery: "true" });
    await world.publish("t", { groupId: "tenant" });
    expect(await world.drain("q")).toMatchObject([{ groupId: "tenant", dedupId: null }]);
  });

  test("the topic's sequence number is not the queue's", async () => {
    await using world = await fifoWorld();
    await world.ask("setSubscriptionAttribute", {
      subscription: (
        await world.ask("listSubscriptions", { topic: null, token: null })
      ).subscriptions[0]?.arn
        .split(":")
        .at(-1) as string,
      name: "RawMessageDelivery",
      value: "false",
    });
    const { sequenceNumber } = await world.publish("t.fifo", { body: "x", groupId: "g" });
    const [delivery] = await world.drain("a.fifo");
    expect(JSON.parse(delivery?.body as string).SequenceNumber).toBe(sequenceNumber);
    expect(delivery?.sequenceNumber).not.toBe(sequenceNumber);
  });
});

describe("a message that a queue does not accept", () => {
  async function world(options = {}): Promise<TopicWorld> {
    const world = await createTopicWorld(options);
    await world.topic("t");
    for (const queue of ["q", "dead"]) await world.queue(queue);
    return world;
  }

  const redrive = { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: `${QUEUE_PREFIX}dead` }) };
  const dropped = async (w: TopicWorld) =>
    (await w.ask("countTopics", { prefix: "" })).topics[0]?.dropped;

  test("goes to the subscription's dead-letter queue as it would have been delivered", async () => {
    await using w = await world();
    await w.subscribe("t", "missing", redrive);
    await w.subscribe("t", "gone", { ...redrive, RawMessageDelivery: "true" });
    const attributes = { a: { type: "String", value: "1" } };
    await w.publish("t", { body: "x", attributes });
    const deadLetters = await w.drain("dead");
    expect(deadLetters).toHaveLength(2);
    expect(JSON.parse(deadLetters[0]?.body as string)).toMatchObject({ Message: "x" });
    expect(deadLetters[0]?.attributes).toBeNull();
    expect(deadLetters[1]).toMatchObject({ body: "x", attributes });
    expect(await dropped(w)).toBe(0);
  });

  test("is counted where there is no dead-letter queue", async () => {
    await using w = await world();
    await w.subscribe("t", "missing");
    await w.publish("t", {});
    expect(await dropped(w)).toBe(1);
  });

  test("includes raw messages with more than ten attributes", async () => {
    await using w = await world();
    await w.subscribe("t", "q", { ...redrive, RawMessageDelivery: "true" });
    const attributes = Object.fromEntries(
      Array.from({ length: 11 }, (_, n) => [`a${n}`, { type: "String", value: "x" }]),
    );
    await w.publish("t", { attributes });
    expect(await w.drain("q")).toEqual([]);
    expect(await w.drain("dead")).toHaveLength(1);
  });

  test("includes messages over the queue's size limit, counting the signature", async () => {
    await using w = await world();
    await w.ask("setQueueAttributes", {
      queue: "q",
      attributes: { MaximumMessageSize: "1024" },
    });
    await w.subscribe("t", "q", redrive);
    await w.publish("t", { body: "x".repeat(100) });
    await w.publish("t", { body: "x".repeat(400) });
    expect(await w.drain("q")).toHaveLength(1);
    expect(await w.drain("dead")).toHaveLength(1);
  });

  test("includes messages that the queue's policy forbids, where policies are enforced", async () => {
    const topic = "arn:aws:sns:us-east-1:000000000000:t";
    const allow = {
      Effect: "Allow",
      Principal: { Service: "sns.amazonaws.com" },
      Action: "sqs:SendMessage",
      Resource: "*",
      Condition: { ArnEquals: { "aws:SourceArn": topic } },
    };
    const Policy = JSON.stringify({ Statement: [allow] });
    for (const enforcePolicies of [false, true]) {
      await using w = await world({ enforcePolicies });
      await w.ask("setQueueAttributes", { queue: "dead", attributes: { Policy } });
      await w.subscribe("t", "q", redrive);
      await w.publish("t", {});
      expect(await w.drain(enforcePolicies ? "dead" : "q")).toHaveLength(1);
      await w.ask("setQueueAttributes", { queue: "q", attributes: { Policy } });
      await w.publish("t", {});
      expect(await w.drain("q")).toHaveLength(1);
      expect(await dropped(w)).toBe(0);
    }
  });
});

test("a batch that is too long is refused as a whole", async () => {
  await using world = await createTopicWorld();
  await world.topic("t");
  await world.queue("q");
  await world.subscribe("t", "q");
  const half = publishEntry({ body: "x".repeat(131_073) });
  const batch = { topic: "t", entries: [half, half], batch: true, origin: "", traceHeader: null };
  expect(await world.refusal("publish", batch)).toMatch(/^BatchRequestTooLong/);
  expect(await world.drain("q")).toEqual([]);
  await world.ask("setTopicAttribute", {
    topic: "t",
    name: "MaximumMessageSize",
    value: "1048576",
  });
  await world.ask("publish", batch);
  expect(await world.drain("q")).toHaveLength(2);
});

test("long messages go to at most a hundred queues, and to no HTTP endpoint", async () => {
  await using world = await createTopicWorld();
  const large = { name: "MaximumMessageSize", value: "1048576" };
  await world.topic("hooks");
  await world.subscribeUrl("hooks", "http://endpoint.test/");
  expect(await world.refusal("setTopicAttribute", { topic: "hooks", ...large })).toMatch(
    /^InvalidParameter: .*http endpoints/,
  );
  await world.topic("t", { MaximumMessageSize: "1048576" });
  await expect(world.subscribeUrl("t", "http://endpoint.test/")).rejects.toThrow(/262144/);
  for (let n = 0; n < 100; n += 1) await world.subscribe("t", `q${n}`);
  await world.subscribe("t", "q0"); // The same one.
  await expect(world.subscribe("t", "one-more")).rejects.toThrow(/at most 100 subscriptions/);
});

test("topics, subscriptions, tags and numbers are the same after a restart", async () => {
  const world = await createTopicWorld();
  await world.topic("t", { DisplayName: "T" });
  await world.ask("tagTopic", { topic: "t", tags: { a: "b" } });
  await world.queue("q");
  const id = await world.subscribe("t", "q", { FilterPolicy: '{"a":["x"]}' });
  const look = async (w: TopicWorld) => ({
    topic: await w.ask("getTopicAttributes", { topic: "t" }),
    tags: await w.ask("listTopicTags", { topic: "t" }),
    subscription: await w.ask("getSubscriptionAttributes", { subscription: id }),
    list: await w.ask("listSubscriptions", { topic: null, token: null }),
    signing: await w.ask("findSigningIdentity", null),
  });
  const before = await look(world);
  await using second = await world.reopen();
  expect(await look(second)).toEqual(before);
  await second.publish("t", { attributes: { a: { type: "String", value: "y" } } });
  await second.publish("t", { attributes: { a: { type: "String", value: "x" } } });
  expect(await second.drain("q")).toHaveLength(1);
  await second.topic("other.fifo"); // Takes a number of its own, not one that is in use.
  await second.queue("other");
});
