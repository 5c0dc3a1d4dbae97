import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { EngineBench, engineTurns, watch } from "../../../test/support/broker/engine-bench.ts";
import { arn, entry, inGroup, receiveInput } from "../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../core/units.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import { DedupWindow } from "../model/sqs/dedup-window.ts";

function sendInput(queue: string, ...bodies: string[]) {
  return { queue, entries: bodies.map((body) => entry(body)), batch: true };
}

test("an answer goes out only after everything it depends on is durable (W1)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const send = watch(bench.send("q", entry("a")));
  const receive = bench.receive("q");
  const look = watch(bench.ok("getQueueAttributes", { queue: "q", names: ["All"] }));
  const received = watch(receive);
  const commit = await bench.store.heldCommit();
  // The receive and the read saw a message that a crash could still undo.
  expect([send.state, received.state, look.state]).toEqual(["pending", "pending", "pending"]);
  await commit.pass();
  expect([send.state, received.state, look.state]).toEqual(["resolved", "resolved", "resolved"]);
  expect((await receive).map(({ body }) => body)).toEqual(["a"]);
});

test("requests of one turn share one commit; later requests share the next (W4)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const first = Array.from({ length: 50 }, (_, index) => bench.send("q", entry(`${index}`)));
  const commit = await bench.store.heldCommit();
  expect(commit.changes.filter(({ kind }) => kind === "put-message")).toHaveLength(50);
  const late = bench.send("q", entry("late"));
  await engineTurns();
  expect(bench.store.held).toHaveLength(0); // Nothing runs while a commit is in flight.
  const before = bench.store.commits.length;
  await commit.pass();
  await Promise.all([...first, late]);
  expect(bench.store.commits.length - before).toBe(2);
});

test("all changes of an operation are in one commit (W2)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q.fifo");
  const before = bench.store.commits.length;
  await bench.send("q.fifo", inGroup("g", "a"), inGroup("g", "b"));
  const commits = bench.store.commits.slice(before);
  expect(commits.map((changes) => changes.map(({ kind }) => kind))).toEqual([
    ["put-message", "put-dedup", "put-message", "put-dedup", "set-sequence"],
  ]);
});

test("no commit uses a message number that is not reserved, and few reserve some (W5)", async () => {
  let store: BrokerStore = createMemoryBrokerStore();
  let last = 0;
  for (let life = 0; life < 3; life += 1) {
    const bench = await EngineBench.open({ store });
    if (life === 0) await bench.create("q");
    let reserved = bench.store.load().sequence;
    const bodies = Array.from({ length: 10 }, (_, index) => `${index}`);
    for (let remaining = 500; remaining > 0; remaining -= 1)
      await bench.ok("send", sendInput("q", ...bodies));
    let reservations = 0;
    for (const changes of bench.store.commits) {
      for (const change of changes) {
        if (change.kind !== "set-sequence") continue;
        reserved = change.seq;
        reservations += 1;
      }
      for (const change of changes) {
        if (change.kind !== "put-message") continue;
        expect(change.head.seq).toBeGreaterThan(last);
        expect(change.head.seq).toBeLessThanOrEqual(reserved);
        last = change.head.seq;
      }
    }
    expect(reservations).toBe(2); // 5,000 numbers in blocks of 4,096.
    store = bench.store;
  }
});

test("an operation without changes commits nothing", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const before = bench.store.commits.length;
  await bench.receive("q");
  await bench.ok("listQueues", { prefix: "", page: null });
  await bench.ok("countQueues", { prefix: "" });
  expect(bench.store.commits.length).toBe(before);
});

test("a failed commit rejects its operations and all long polls (W3)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  await bench.create("idle");
  const poll = watch(bench.poll("idle", 20_000));
  await bench.broker.idle();
  bench.store.holding = true;
  const send = watch(bench.send("q", entry("lost")));
  const look = watch(bench.ok("findQueue", { queue: "q" }));
  const hopeful = watch(bench.poll("q", 20_000));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect([poll.state, send.state, look.state, hopeful.state]).toEqual(Array(4).fill("rejected"));
});

test("after a failed commit the state is reloaded from the store (W3)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  await bench.send("q", entry("kept"));
  bench.store.holding = true;
  const lost = watch(bench.send("q", entry("lost")));
  const received = watch(bench.receive("q"));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect([lost.state, received.state]).toEqual(["rejected", "rejected"]);
  bench.store.holding = false;
  bench.clock.advance(250);
  expect((await bench.receive("q")).map(({ body, receiveCount }) => [body, receiveCount])).toEqual([
    ["kept", 1],
  ]);
  expect(await bench.receive("q")).toEqual([]);
});

test("a failed store is tried again after a pause, whatever the traffic", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const lost = watch(bench.send("q", entry("lost")));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect(lost.state).toBe("rejected");
  bench.store.holding = false;
  const loads = bench.store.loads;
  // A request every hundred milliseconds: rejected twice, served once the pause is over.
  for (const served of [false, false, true, true]) {
    bench.clock.advance(100);
    const answer = bench.ok("findQueue", { queue: "q" });
    if (served) await answer;
    else await expect(answer).rejects.toMatchObject({ code: "TG_STORE_UNAVAILABLE" });
  }
  expect(bench.store.loads).toBe(loads + 1);
});

test("the broker is unhealthy from a failure of the store until the state is reloaded", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  expect(bench.broker.health).toBe("ok");
  bench.store.holding = true;
  const lost = watch(bench.send("q", entry("lost")));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect([lost.state, bench.broker.health]).toEqual(["rejected", "failing"]);
  const since = bench.clock.now();
  expect(bench.broker.outage).toEqual({ since, reason: expect.stringMatching(/./) });
  const reason = bench.broker.outage?.reason ?? "";
  await expect(bench.ok("findQueue", { queue: "q" })).rejects.toMatchObject({
    message: expect.stringContaining(reason),
  });
  bench.store.holding = false;
  await bench.pass(250);
  expect([bench.broker.health, bench.broker.outage]).toEqual(["ok", null]);
});

test("a failed store is tried again without requests, at growing intervals (W3)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q", { MessageRetentionPeriod: "60" });
  await bench.send("q", entry("a"));
  bench.store.holding = true;
  const lost = watch(bench.send("q", entry("lost")));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect(lost.state).toBe("rejected");
  const attempts: number[] = [];
  const start = bench.clock.now();
  while (attempts.length < 8) {
    bench.clock.advance(50);
    await engineTurns();
    if (bench.store.held.length === 0) continue;
    attempts.push(bench.clock.now() - start);
    (await bench.store.heldCommit()).break();
    await engineTurns();
  }
  expect(attempts).toEqual([250, 750, 1_750, 3_750, 7_750, 15_750, 23_750, 31_750]);
  bench.store.holding = false;
  await bench.pass(8_000);
  for (let minute = 0; minute < 3; minute += 1) await bench.pass(60_000);
  expect([...bench.store.load().messages]).toEqual([]); // Housekeeping continued without a request.
});

test("a send, a visibility timeout and a delay each wake a long poll", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const bySend = bench.poll("q", 20_000);
  await bench.broker.idle();
  await bench.send("q", entry("a"));
  expect(await bySend).toEqual(["a"]);
  const byTimeout = bench.poll("q", 20_000 * 2);
  await bench.broker.idle();
  await bench.pass(30_000);
  expect(await byTimeout).toEqual(["a"]);
  await bench.send("q", entry("b", { delayMs: durationMs(5_000) }));
  const byDelay = bench.poll("q", 20_000);
  await bench.broker.idle();
  await bench.pass(5_000);
  expect(await byDelay).toEqual(["b"]);
});

test("a long poll without messages ends when its time is over, and not before", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const poll = bench.poll("q", 20_000);
  const polled = watch(poll);
  await bench.broker.idle();
  await bench.pass(19_999);
  expect(polled.state).toBe("pending");
  await bench.pass(1);
  expect(await poll).toEqual([]);
});

test("an aborted receive takes no message", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const abort = new AbortController();
  const poll = bench.poll("q", 20_000, abort.signal);
  await bench.broker.idle();
  abort.abort();
  expect(await poll).toEqual([]);
  await bench.send("q", entry("a"));
  expect(await bench.poll("q", 0, abort.signal)).toEqual([]); // Aborted before it began.
  expect((await bench.receive("q")).map(({ receiveCount }) => receiveCount)).toEqual([1]);
});

test("a signal that outlives many long polls does not accumulate listeners", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const { signal } = new AbortController();
  for (let round = 0; round < 3; round += 1) {
    const poll = bench.poll("q", 20_000, signal);
    await bench.broker.idle();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await bench.pass(20_000);
    await poll;
  }
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("closing ends long polls, even those that have not begun, then closes the store", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const waiting = bench.poll("q", 20_000);
  await bench.broker.idle();
  const sent = bench.send("q.none", entry("x")).catch(() => "refused");
  const inbox = bench.poll("q", 20_000);
  const closing = bench.broker.close();
  expect(await waiting).toEqual([]);
  expect(await inbox).toEqual([]);
  expect(await sent).toBe("refused");
  await closing;
  expect(bench.store.closed).toBe(true);
  expect(bench.clock.sleepers).toBe(0);
  await expect(bench.ok("findQueue", { queue: "q" })).rejects.toMatchObject({ code: "TG_CLOSED" });
});

test("closing waits for accepted operations", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const send = bench.send("q", entry("a"));
  const commit = await bench.store.heldCommit();
  const closed = watch(bench.broker.close());
  await engineTurns();
  expect([closed.state, bench.store.closed]).toEqual(["pending", false]);
  await commit.pass();
  await send;
  await engineTurns();
  expect([closed.state, bench.store.closed]).toEqual(["resolved", true]);
});

test("a second close resolves with the first, not before it", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const send = bench.send("q", entry("a"));
  const commit = await bench.store.heldCommit();
  const closes = [watch(bench.broker.close()), watch(bench.broker.close())];
  await engineTurns();
  expect(closes.map(({ state }) => state)).toEqual(["pending", "pending"]);
  await commit.pass();
  await send;
  await engineTurns();
  expect(closes.map(({ state }) => state)).toEqual(["resolved", "resolved"]);
  expect(bench.store.closed).toBe(true);
});

test("idle does not wait for long polls, but for everything else", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const poll = watch(bench.poll("q", 20_000));
  await bench.broker.idle();
  expect(poll.state).toBe("pending");
  bench.store.holding = true;
  const send = bench.send("q", entry("a"));
  const idle = watch(bench.broker.idle());
  const commit = await bench.store.heldCommit();
  expect(idle.state).toBe("pending");
  await commit.pass();
  await send;
  await engineTurns();
  expect(idle.state).toBe("resolved");
});

test("garbage is erased completely without a request", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  for (let remaining = 120; remaining > 0; remaining -= 1) {
    await bench.ok("send", sendInput("q", ..."0123456789"));
  }
  await bench.ok("purgeQueue", { queue: "q" });
  await bench.broker.idle();
  expect([...bench.store.load().messages]).toEqual([]);
});

test("housekeeping runs without a request, and an idle broker sleeps", async () => {
  const bench = await EngineBench.open();
  await bench.create("q.fifo", { MessageRetentionPeriod: "60" });
  expect(bench.clock.sleepers).toBe(0);
  await bench.send("q.fifo", inGroup("g", "a"));
  expect(bench.clock.sleepers).toBe(1);
  for (let minute = 0; minute < 12; minute += 1) await bench.pass(60_000);
  const remaining = bench.store.load();
  expect([[...remaining.messages], [...remaining.dedups]]).toEqual([[], []]);
  expect(bench.clock.sleepers).toBe(0);
});

test("a broker without housekeeping to do does not walk its queues", async () => {
  const bench = await EngineBench.open();
  for (let number = 0; number < 50; number += 1) await bench.create(`q${number}`);
  const looks = vi.spyOn(DedupWindow.prototype, "oldest");
  for (let round = 0; round < 10; round += 1) await bench.receive("q0");
  expect(looks).not.toHaveBeenCalled();
  await bench.send("q0", entry("a"));
  expect(looks.mock.calls.length).toBeGreaterThan(0);
  expect(bench.clock.sleepers).toBe(1);
  looks.mockRestore();
});

test("a move task runs at its rate without requests, and continues after a restart", async () => {
  const bench = await EngineBench.open();
  await bench.create("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn("dead"), maxReceiveCount: 1 });
  await bench.create("q", { RedrivePolicy });
  await bench.ok("send", sendInput("q", "a", "b", "c"));
  await bench.receive("q");
  await bench.pass(30_000);
  await bench.receive("q");
  const task = { sourceArn: arn("dead"), destinationArn: null, perSecondMax: 1 };
  await bench.ok("startMoveTask", task);
  await bench.broker.idle();
  const moved = async (on: EngineBench) => {
    const { tasks } = await on.ok("listMoveTasks", { sourceArn: arn("dead"), limit: 1 });
    return [tasks[0]?.moved, tasks[0]?.status];
  };
  expect(await moved(bench)).toEqual([1, "RUNNING"]);
  await bench.pass(1_000);
  expect(await moved(bench)).toEqual([2, "RUNNING"]);
  const second = await EngineBench.open({ store: bench.store, clock: bench.clock });
  await second.pass(1_000);
  await second.pass(1_000);
  expect(await moved(second)).toEqual([3, "COMPLETED"]);
  expect(await second.receive("q")).toHaveLength(3);
});

test("messages that moved within their own batch are read, even without any cache", async () => {
  const bench = await EngineBench.open({ cacheBytes: 0 });
  await bench.create("dead.fifo");
  const deadLetterTargetArn = arn("dead.fifo");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 });
  await bench.create("q.fifo", { RedrivePolicy });
  const visibilityMs = durationMs(0);
  const [, , , dead] = await Promise.all([
    bench.send("q.fifo", inGroup("g", "a")),
    bench.receive("q.fifo", { visibilityMs }),
    bench.receive("q.fifo", { visibilityMs }),
    bench.receive("dead.fifo"),
  ]);
  expect(dead).toMatchObject([{ body: "a", receiveCount: 2, sourceArn: arn("q.fifo") }]);
  expect(dead[0]?.dedupId).toBe(dead[0]?.messageId);
});

test("requests beyond the size of one batch are all answered, in order", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  const sends = Array.from({ length: 2_500 }, (_, index) => bench.send("q", entry(`${index}`)));
  await Promise.all(sends);
  const order: string[] = [];
  for (let remaining = 250; remaining > 0; remaining -= 1) {
    const { deliveries } = await bench.ok("receive", receiveInput("q"));
    order.push(...deliveries.map(({ body }) => body));
  }
  expect(order).toEqual(sends.map((_, index) => `${index}`));
});
