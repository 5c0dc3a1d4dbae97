import { describe, expect, test } from "vitest";
import { createTopicWorld, type TopicWorld } from "../../../test/support/topic-world.ts";
import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { epochMs } from "../../core/units.ts";

const DAY_MS = 86_400_000;
const ARCHIVE = { ArchivePolicy: '{"MessageRetentionPeriod":"2"}' };

async function archiving(): Promise<{ world: TopicWorld; id: string; start: number }> {
  const world = await createTopicWorld();
  await world.topic("t.fifo", { ContentBasedDeduplication: "true", ...ARCHIVE });
  await world.queue("q.fifo");
  const id = await world.subscribe("t.fifo", "q.fifo");
  return { world, id, start: world.clock.now() };
}

function policy(from: number, to: number | null = null): string {
  return JSON.stringify({
    PointType: "Timestamp",
    StartingPoint: formatInstant(epochMs(from)),
    ...(to === null ? {} : { EndingPoint: formatInstant(epochMs(to)) }),
  });
}

function replay(world: TopicWorld, id: string, value: string) {
  return world.ask("setSubscriptionAttribute", { subscription: id, name: "ReplayPolicy", value });
}

const statusOf = async (world: TopicWorld, id: string) =>
  (await world.ask("getSubscriptionAttributes", { subscription: id })).attributes.ReplayStatus;

async function received(world: TopicWorld, queue = "q.fifo") {
  const deliveries = await world.drain(queue);
  return deliveries.map(({ body }) => {
    const { Message, MessageId, Timestamp, Replayed } = JSON.parse(body);
    return { Message, MessageId, Timestamp, Replayed };
  });
}

/** `count` messages, a second apart. */
async function publishSome(world: TopicWorld, count: number, prefix = "m"): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await world.publish("t.fifo", { body: `${prefix}${n}`, groupId: "g" });
    await world.clock.advance(1_000);
  }
}

describe("a replay", () => {
  test("sends the archive again, with the original ids and times, marked as replayed", async () => {
    const { world, id, start } = await archiving();
    await using w = world;
    await publishSome(w, 3);
    const originals = await received(w);
    await replay(w, id, policy(start));
    await w.clock.advance(0);
    const again = await received(w);
    expect(again).toEqual(originals.map((message) => ({ ...message, Replayed: true })));
    expect(originals.every(({ Replayed }) => Replayed === undefined)).toBe(true);
    expect(await statusOf(w, id)).toBe("Completed");
  });

  test("keeps to its starting and ending point", async () => {
    const { world, id, start } = await archiving();
    await using w = world;
    await publishSome(w, 5);
    await received(w);
    await replay(w, id, policy(start + 1_000, start + 3_000));
    await w.clock.advance(0);
    expect((await received(w)).map(({ Message }) => Message)).toEqual(["m1", "m2", "m3"]);
  });

  test("serves a subscriber that came later, through its filter", async () => {
    const { world, start } = await archiving();
    await using w = world;
    await publishSome(w, 2);
    await w.publish("t.fifo", {
      body: "wanted",
      groupId: "g",
      attributes: { kind: { type: "String", value: "x" } },
    });
    await w.queue("late.fifo");
    const attributes = { ReplayPolicy: policy(start), FilterPolicy: '{"kind":["x"]}' };
    await w.subscribe("t.fifo", "late.fifo", attributes);
    await w.clock.advance(0);
    const messages = await received(w, "late.fifo");
    expect(messages.map(({ Message }) => Message)).toEqual(["wanted"]);
  });

  test("delivers messages published meanwhile in order, and loses none", async () => {
    const { world, id, start } = await archiving();
    await using w = world;
    await Promise.all(
      Array.from({ length: 250 }, (_, n) => w.publish("t.fifo", { body: `m${n}`, groupId: "g" })),
    );
    await w.drain("q.fifo");
    // In one turn, so that the publishes fall into the middle of the replay.
    const started = replay(w, id, policy(start));
    const live = Array.from({ length: 20 }, (_, n) =>
      w.publish("t.fifo", { body: `live${n}`, groupId: "g" }),
    );
    await Promise.all([started, ...live]);
    await w.clock.advance(0);
    const messages = await received(w);
    const expected = [
      ...Array.from({ length: 250 }, (_, n) => [`m${n}`, true]),
      ...Array.from({ length: 20 }, (_, n) => [`live${n}`, undefined]),
    ];
    expect(messages.map(({ Message, Replayed }) => [Message, Replayed])).toEqual(expected);
  });

  test("that is cancelled still delivers the messages it held back", async () => {
    const { world, id, start } = await archiving();
    await using w = world;
    await Promise.all(
      Array.from({ length: 250 }, (_, n) => w.publish("t.fifo", { body: `m${n}`, groupId: "g" })),
    );
    await w.drain("q.fifo");
    await Promise.all([
      replay(w, id, policy(start)),
      w.publish("t.fifo", { body: "live", groupId: "g" }),
      replay(w, id, ""),
    ]);
    await w.clock.advance(0);
    expect((await received(w)).at(-1)).toMatchObject({ Message: "live", Replayed: undefined });
    expect(await statusOf(w, id)).toBeUndefined();
  });

  test("continues after a restart with the next message", async () => {
    const { world, id, start } = await archiving();
    await Promise.all(
      Array.from({ length: 250 }, (_, n) =>
        world.publish("t.fifo", { body: `m${n}`, groupId: "g" }),
      ),
    );
    await world.drain("q.fifo");
    await replay(world, id, policy(start));
    await using second = await world.reopen();
    await second.clock.advance(0);
    const messages = (await received(second)).map(({ Message }) => Message);
    expect(messages).toEqual(Array.from({ length: 250 }, (_, n) => `m${n}`));
    expect(await statusOf(second, id)).toBe("Completed");
  });
});

describe("an archive", () => {
  test("returns from when it can be replayed, and drops older messages", async () => {
    const { world, id, start } = await archiving();
    await using w = world;
    await publishSome(w, 2);
    await w.drain("q.fifo");
    const attributes = async () =>
      (await w.ask("getTopicAttributes", { topic: "t.fifo" })).attributes;
    expect((await attributes()).BeginningArchiveTime).toBe(formatInstant(epochMs(start)));
    await w.clock.advance(2 * DAY_MS + 60_000);
    const now = w.clock.now();
    expect((await attributes()).BeginningArchiveTime).toBe(
      formatInstant(epochMs(now - 2 * DAY_MS)),
    );
    expect((await w.ask("countTopics", { prefix: "" })).topics[0]?.archived).toBe(0);
    await replay(w, id, policy(start));
    await w.clock.advance(0);
    expect(await received(w)).toEqual([]);
  });

  test("that is switched off is gone for good, also after it is switched on again", async () => {
    const { world, id, start } = await archiving();
    await publishSome(world, 2);
    await world.drain("q.fifo");
    const set = (value: string) =>
      world.ask("setTopicAttribute", { topic: "t.fifo", name: "ArchivePolicy", value });
    await set("{}");
    expect(
      await world.refusal("setSubscriptionAttribute", {
        subscription: id,
        name: "ReplayPolicy",
        value: policy(start),
      }),
    ).toMatch(/^InvalidParameter: .*ArchivePolicy/);
    await set(ARCHIVE.ArchivePolicy);
    await using second = await world.reopen();
    await replay(second, id, policy(start));
    await second.clock.advance(0);
    expect(await received(second)).toEqual([]);
  });

  test("keeps its topic from being deleted", async () => {
    const { world } = await archiving();
    await using w = world;
    expect(await w.refusal("deleteTopic", { topic: "t.fifo" })).toMatch(/^InvalidState/);
    await w.ask("setTopicAttribute", { topic: "t.fifo", name: "ArchivePolicy", value: "" });
    await w.ask("deleteTopic", { topic: "t.fifo" });
    expect(await w.refusal("getTopicAttributes", { topic: "t.fifo" })).toMatch(/^NotFound/);
  });

  test("is for FIFO topics and for a day to a year", async () => {
    await using world = await createTopicWorld();
    const create = (name: string, days: unknown) => {
      const fifo = name.endsWith(".fifo") ? { FifoTopic: "true" } : {};
      const ArchivePolicy = JSON.stringify({ MessageRetentionPeriod: days });
      return world.refusal("createTopic", {
        name,
        attributes: { ...fifo, ArchivePolicy },
        tags: {},
      });
    };
    expect(await create("standard", "1")).toMatch(/only supported on FIFO topics/);
    for (const days of ["0", "366", "x", 1.5]) {
      expect(await create("t.fifo", days)).toMatch(/from 1 to 365 days/);
    }
  });
});

test.each([
  ["{", "failed to parse JSON"],
  ["null", "failed to parse JSON"],
  ['{"PointType":"Offset"}', "PointType"],
  ['{"PointType":"Timestamp","StartingPoint":"yesterday"}', "StartingPoint"],
  [
    '{"PointType":"Timestamp","StartingPoint":"2026-01-01T00:00:00Z","EndingPoint":5}',
    "EndingPoint",
  ],
])("the replay policy %s is refused for its own reason", async (value, reason) => {
  const { world, id } = await archiving();
  await using w = world;
  const refused = await w.refusal("setSubscriptionAttribute", {
    subscription: id,
    name: "ReplayPolicy",
    value,
  });
  expect(refused).toContain(reason);
});
