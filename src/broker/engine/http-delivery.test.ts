import { describe, expect, test } from "vitest";
import {
  createTopicWorld,
  ORIGIN,
  QUEUE_PREFIX,
  TOPIC_PREFIX,
  type TopicWorld,
  type WorldOptions,
} from "../../../test/support/topic-world.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { HttpPost } from "../../ports/http/http-client.ts";

const URL = "http://endpoint.test/hook";

type Body = Record<string, string>;

const bodyOf = (post: HttpPost | undefined) => JSON.parse(post?.body ?? "{}") as Body;
const typeOf = (post: HttpPost) => post.headers["x-amz-sns-message-type"];

/** A topic with one confirmed HTTP endpoint. */
async function confirmed(
  options: WorldOptions = {},
  attributes: Record<string, string> = {},
): Promise<{ world: TopicWorld; id: string }> {
  const asked: HttpPost[] = [];
  const { endpoint = () => 200 } = options;
  const world = await createTopicWorld({
    ...options,
    endpoint: (post, signal) => {
      if (typeOf(post) !== "SubscriptionConfirmation") return endpoint(post, signal);
      asked.push(post);
      return 200;
    },
  });
  await world.topic("t");
  await world.queue("dead");
  const id = await world.subscribeUrl("t", URL, attributes);
  await world.clock.advance(0);
  const token = bodyOf(asked[0]).Token as string;
  await confirm(world, token);
  world.posts.length = 0;
  return { world, id };
}

function confirm(world: TopicWorld, token: string) {
  const input = { token, authenticateOnUnsubscribe: false, authenticated: false };
  return world.ask("confirmSubscription", input);
}

/** A policy of `count` retries, one second apart. */
function retries(count: number): Record<string, string> {
  const healthyRetryPolicy = { minDelayTarget: 1, maxDelayTarget: 1, numRetries: count };
  return { DeliveryPolicy: JSON.stringify({ healthyRetryPolicy }) };
}

const redrive = { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: `${QUEUE_PREFIX}dead` }) };

/** Number of the message that was written last. */
function lastSeq(changes: readonly Change[]): number {
  const put = changes.findLast((change) => change.kind === "put-message");
  return put?.kind === "put-message" ? put.head.seq : 0;
}

const waiting = async (world: TopicWorld) =>
  (await world.ask("countTopics", { prefix: "" })).topics[0]?.outgoing;

describe("confirmation", () => {
  test("is asked for first; nothing else is sent until it is given", async () => {
    await using world = await createTopicWorld();
    await world.topic("t");
    const id = await world.subscribeUrl("t", URL);
    await world.publish("t", { body: "too early" });
    await world.clock.advance(60_000);
    expect(world.posts.map(typeOf)).toEqual(["SubscriptionConfirmation"]);
    const [post] = world.posts;
    const body = bodyOf(post);
    expect(post).toMatchObject({ url: URL });
    expect(post?.headers).toEqual({
      "x-amz-sns-message-type": "SubscriptionConfirmation",
      "x-amz-sns-message-id": body.MessageId,
      "x-amz-sns-topic-arn": `${TOPIC_PREFIX}t`,
      "content-type": "text/plain; charset=UTF-8",
      "user-agent": "Amazon Simple Notification Service Agent",
    });
    expect(body.SubscribeURL).toBe(
      `${ORIGIN}/?Action=ConfirmSubscription&TopicArn=${TOPIC_PREFIX}t&Token=${body.Token}`,
    );
    expect(body.Token).toMatch(/^[0-9a-f]{288}$/);
    expect(Buffer.from(body.Signature as string, "base64").toString()).toMatch(/^c0ffee sha1 Mess/);
    const { arn } = await confirm(world, body.Token as string);
    expect(arn).toBe(`${TOPIC_PREFIX}t:${id}`);
    await world.publish("t", { body: "now" });
    await world.clock.advance(0);
    expect(bodyOf(world.posts[1]).Message).toBe("now");
    expect(world.posts[1]?.headers["x-amz-sns-subscription-arn"]).toBe(arn);
  });

  test("may be given again, and is refused with any other token", async () => {
    await using world = await createTopicWorld();
    await world.topic("t");
    await world.subscribeUrl("t", URL);
    await world.clock.advance(0);
    const { Token } = bodyOf(world.posts[0]);
    const first = await confirm(world, Token as string);
    expect(await confirm(world, Token as string)).toEqual(first);
    const asked = (token: string) =>
      world.refusal("confirmSubscription", {
        token,
        authenticateOnUnsubscribe: false,
        authenticated: true,
      });
    expect(await asked("x")).toBe("InvalidParameter: Invalid token");
    expect(await asked("0".repeat(288))).toBe("InvalidParameter: Invalid parameter: Token");
  });

  test("is asked for again by subscribing again, and is over after two days", async () => {
    await using world = await createTopicWorld();
    await world.topic("t");
    await world.subscribeUrl("t", URL);
    await world.subscribeUrl("t", URL);
    await world.clock.advance(0);
    const [one, two] = world.posts.map(bodyOf);
    expect(one?.Token).toBe(two?.Token);
    await world.clock.advance(2 * 86_400_000 + 60_000);
    const list = await world.ask("listSubscriptions", { topic: "t", token: null });
    expect(list.subscriptions).toEqual([]);
  });

  test("decides whether links may unsubscribe", async () => {
    const { world, id } = await confirmed();
    await using w = world;
    const record = { subscription: id, authenticated: false };
    await w.ask("unsubscribe", record);
    await w.ask("unsubscribe", record); // Done already.
    const guarded = await w.subscribeUrl("t", `${URL}/2`);
    await w.clock.advance(0);
    const token = bodyOf(w.posts.at(-1)).Token as string;
    const input = { token, authenticateOnUnsubscribe: true, authenticated: true };
    await w.ask("confirmSubscription", input);
    const unsigned = { subscription: guarded, authenticated: false };
    expect(await w.refusal("unsubscribe", unsigned)).toMatch(/^AuthorizationError/);
    await w.ask("unsubscribe", { ...unsigned, authenticated: true });
  });
});

describe("retries", () => {
  test("follow the policy and end with the dead-letter queue", async () => {
    const times: number[] = [];
    let clock: TopicWorld["clock"] | null = null;
    const { world } = await confirmed(
      {
        endpoint: () => {
          times.push(clock?.now() ?? 0);
          return 500;
        },
      },
      { ...retries(3), ...redrive },
    );
    await using w = world;
    clock = w.clock;
    const start = w.clock.now();
    await w.publish("t", { body: "x" });
    await w.clock.advance(10_000);
    expect(times.map((at) => at - start)).toEqual([0, 1_000, 2_000, 3_000]);
    const deadLetters = await w.drain("dead");
    expect(deadLetters.map(({ body }) => JSON.parse(body).Message)).toEqual(["x"]);
    expect(await waiting(w)).toBe(0);
  });

  test.each([
    [200, 1, 0],
    [204, 1, 0],
    [301, 2, 1],
    [400, 1, 1],
    [404, 1, 1],
    [429, 2, 1],
    [500, 2, 1],
    [503, 2, 1],
  ])(
    "an answer of %d makes %d requests and %d dead letters",
    async (status, requests, deadLetters) => {
      const { world } = await confirmed({ endpoint: () => status }, { ...retries(1), ...redrive });
      await using w = world;
      await w.publish("t", { body: "x" });
      await w.clock.advance(10_000);
      expect(w.posts).toHaveLength(requests);
      expect(await w.drain("dead")).toHaveLength(deadLetters);
      expect(await waiting(w)).toBe(0);
    },
  );

  test("a missing response is retried like a failure of the server", async () => {
    const answers = [new Error("refused"), new Error("reset"), 200];
    const { world } = await confirmed({ endpoint: () => answers.shift() as number }, retries(5));
    await using w = world;
    await w.publish("t", { body: "x" });
    await w.clock.advance(10_000);
    expect(w.posts).toHaveLength(3);
    expect(new Set(w.posts.map(({ body }) => body)).size).toBe(1);
    expect(await waiting(w)).toBe(0);
  });

  test("continue after a restart", async () => {
    const { world } = await confirmed({ endpoint: () => 500 }, { ...retries(3), ...redrive });
    await world.publish("t", { body: "x" });
    await world.clock.advance(1_500);
    expect(world.posts).toHaveLength(2);
    await using second = await world.reopen({ endpoint: () => 500 });
    await second.clock.advance(10_000);
    expect(second.posts).toHaveLength(2);
    expect(await second.drain("dead")).toHaveLength(1);
  });

  test("of a request that was in flight when the broker stopped are made by the next broker", async () => {
    const { world } = await confirmed({
      endpoint: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    });
    const published = world.publish("t", { body: "x" });
    await published;
    while (world.posts.length === 0) await new Promise<void>((done) => setImmediate(done));
    await using second = await world.reopen({ endpoint: () => 200 });
    await second.clock.advance(30_000);
    expect(second.posts.map((post) => bodyOf(post).Message)).toEqual(["x"]);
    expect(await waiting(second)).toBe(0);
  });

  test("count an attempt before its request goes out, so that a crash cannot add one", async () => {
    const committed: boolean[] = [];
    let inside: TopicWorld | null = null;
    const { world } = await confirmed({
      endpoint: () => {
        const changes = inside?.commits.flat() ?? [];
        const receipts = changes.filter(({ kind }) => kind === "update-receipt");
        committed.push(
          receipts.some((change) => "seq" in change && change.seq === lastSeq(changes)),
        );
        return 200;
      },
    });
    await using w = world;
    inside = w;
    await w.publish("t", { body: "x" });
    await w.clock.advance(0);
    expect(committed).toEqual([true]);
  });

  test("ignore the result of another attempt", async () => {
    const { world, id } = await confirmed({ endpoint: () => 500 }, retries(3));
    await using w = world;
    await w.publish("t", { body: "x" });
    await w.clock.advance(500);
    const seq = lastSeq(w.commits.flat());
    for (const attempt of [0, 2, 3]) {
      const late = { subscription: id, seq, attempt, result: "delivered" as const };
      await w.ask("finishPendingHttp", late);
    }
    expect(await waiting(w)).toBe(1);
    await w.ask("finishPendingHttp", { subscription: id, seq, attempt: 1, result: "delivered" });
    expect(await waiting(w)).toBe(0);
  });

  test("are dropped when the subscription is deleted", async () => {
    const { world, id } = await confirmed({ endpoint: () => 500 }, retries(3));
    await using w = world;
    await w.publish("t", { body: "x" });
    await w.clock.advance(500);
    await w.ask("unsubscribe", { subscription: id, authenticated: true });
    await w.clock.advance(10_000);
    expect(w.posts).toHaveLength(1);
  });
});

describe("requests", () => {
  test("raw ones contain only the message and say so", async () => {
    const { world } = await confirmed({}, { RawMessageDelivery: "true" });
    await using w = world;
    const attributes = { a: { type: "String", value: "1" } };
    await w.publish("t", { body: "bare", attributes });
    await w.clock.advance(0);
    expect(w.posts[0]?.body).toBe("bare");
    expect(w.posts[0]?.headers).toMatchObject({ "x-amz-sns-rawdelivery": "true" });
    expect(JSON.stringify(w.posts[0]?.headers)).not.toContain('"a"');
  });

  test("have the content type of the policy", async () => {
    const requestPolicy = { headerContentType: "application/json" };
    const { world } = await confirmed({}, { DeliveryPolicy: JSON.stringify({ requestPolicy }) });
    await using w = world;
    await w.publish("t", {});
    await w.clock.advance(0);
    expect(w.posts[0]?.headers["content-type"]).toBe("application/json");
  });

  test("keep to the rate of the policy", async () => {
    const throttlePolicy = { maxReceivesPerSecond: 2 };
    const { world } = await confirmed({}, { DeliveryPolicy: JSON.stringify({ throttlePolicy }) });
    await using w = world;
    for (let n = 0; n < 10; n += 1) await w.publish("t", { body: `${n}` });
    await w.clock.advance(2_000);
    expect(w.posts.length).toBeGreaterThanOrEqual(4);
    expect(w.posts.length).toBeLessThanOrEqual(7);
    await w.clock.advance(10_000);
    expect(w.posts).toHaveLength(10);
  });

  test("are never more than the limit at once, and all of them are made", async () => {
    let open = 0;
    let most = 0;
    const { world } = await confirmed({
      async endpoint() {
        open += 1;
        most = Math.max(most, open);
        await new Promise<void>((done) => setImmediate(done));
        open -= 1;
        return 200;
      },
    });
    await using w = world;
    await Promise.all(Array.from({ length: 100 }, (_, n) => w.publish("t", { body: `${n}` })));
    await w.clock.advance(0);
    expect(new Set(w.posts.map((post) => bodyOf(post).Message)).size).toBe(100);
    expect(w.posts).toHaveLength(100);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(16);
  });

  test("to a slow endpoint do not block others", async () => {
    const { world } = await confirmed({ endpoint: ({ url }) => (url === URL ? 500 : 200) });
    await using w = world;
    await w.subscribeUrl("t", `${URL}/other`);
    await w.clock.advance(0);
    await confirm(w, bodyOf(w.posts.at(-1)).Token as string);
    w.posts.length = 0;
    await Promise.all(Array.from({ length: 20 }, () => w.publish("t", {})));
    await w.clock.advance(0);
    expect(w.posts.filter(({ url }) => url !== URL)).toHaveLength(20);
  });
});

test("without an HTTP client, HTTP endpoints are refused", async () => {
  const { createBroker } = await import("./create-broker.ts");
  const { createMemoryBrokerStore } = await import("../../stores/memory/broker-store.ts");
  const { createSeededRandom } = await import("../../core/seeded-random.ts");
  const { systemClock } = await import("../../platform/system-clock.ts");
  const { systemTurn } = await import("../../platform/system-turn.ts");
  const store = createMemoryBrokerStore();
  const ports = { store, clock: systemClock, random: createSeededRandom(1), turn: systemTurn };
  const broker = await createBroker(ports, { account: "000000000000", region: "us-east-1" });
  await broker.submit("createTopic", { name: "t", attributes: {}, tags: {} });
  const outcome = await broker.submit("subscribe", {
    topic: "t",
    protocol: "http",
    endpoint: URL,
    attributes: {},
    origin: ORIGIN,
  });
  expect(outcome).toMatchObject({ ok: false, fault: { name: "InvalidParameter" } });
  await broker.close();
});
