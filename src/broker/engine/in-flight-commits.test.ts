// Batches that begin before the previous commit has ended.

import { expect, test } from "vitest";
import type { HeldCommit } from "../../../test/support/broker/engine-bench.ts";
import { EngineBench, engineTurns, watch } from "../../../test/support/broker/engine-bench.ts";
import { entry } from "../../../test/support/broker/model-bench.ts";

/** A broker with a queue and two commits in flight, of one send each. */
async function twoInFlight(options: { cacheBytes?: number } = {}) {
  const bench = await EngineBench.open(options);
  await bench.create("q");
  bench.store.holding = true;
  const first = bench.send("q", entry("a"));
  const one = await bench.store.heldCommit();
  const second = bench.send("q", entry("b"));
  const two = await bench.store.heldCommit();
  return { bench, sends: [first, second].map(watch), one, two };
}

const states = (watched: readonly { state: string }[]) => watched.map(({ state }) => state);
const putsOf = ({ changes }: HeldCommit) =>
  changes.filter(({ kind }) => kind === "put-message").length;

test("a second commit begins once as many requests wait as the first contains, and no third (F3)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const sends = ["a", "b", "c"].map((body) => bench.send("q", entry(body)));
  const one = await bench.store.heldCommit();
  sends.push(bench.send("q", entry("d")), bench.send("q", entry("e")));
  await engineTurns();
  expect(bench.store.held).toHaveLength(0); // Two wait, three are in flight.
  sends.push(bench.send("q", entry("f")));
  const two = await bench.store.heldCommit();
  expect([one, two].map(putsOf)).toEqual([3, 3]);
  sends.push(...["g", "h", "i", "j"].map((body) => bench.send("q", entry(body))));
  await engineTurns();
  expect(bench.store.held).toHaveLength(0);
  bench.store.holding = true;
  await one.pass();
  const three = await bench.store.heldCommit(); // Waiting requests begin as soon as a commit ends.
  expect(putsOf(three)).toBe(4);
  await two.pass();
  await three.pass();
  await Promise.all(sends);
});

test("answers go out in order, even if the second commit ends first (F1)", async () => {
  const { sends, one, two } = await twoInFlight();
  await two.pass();
  expect(states(sends)).toEqual(["pending", "pending"]);
  await one.pass();
  expect(states(sends)).toEqual(["resolved", "resolved"]);
});

test("each operation is answered when its own commit has ended", async () => {
  const { sends, one, two } = await twoInFlight();
  await one.pass();
  expect(states(sends)).toEqual(["resolved", "pending"]);
  await two.pass();
  expect(states(sends)).toEqual(["resolved", "resolved"]);
});

test("a read is answered only after what it read is durable (W1)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const send = watch(bench.send("q", entry("a")));
  const one = await bench.store.heldCommit();
  const commits = bench.store.commits.length;
  const look = watch(bench.ok("getQueueAttributes", { queue: "q", names: ["All"] }));
  await engineTurns();
  expect([send.state, look.state]).toEqual(["pending", "pending"]);
  await one.pass();
  expect([send.state, look.state]).toEqual(["resolved", "resolved"]);
  expect(bench.store.commits.length).toBe(commits + 1); // It had nothing to commit itself.
});

test("when the first commit fails, so does the second, and nothing of either remains (F2)", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  one.break();
  await engineTurns();
  expect(states(sends)).toEqual(["rejected", "pending"]);
  two.break();
  await engineTurns();
  expect(states(sends)).toEqual(["rejected", "rejected"]);
  bench.store.holding = false;
  bench.clock.advance(250);
  expect(await bench.receive("q")).toEqual([]);
});

test("a batch that ran on a failed commit is rejected, even if its own commit succeeds (F2)", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  one.break();
  await two.pass();
  expect(states(sends)).toEqual(["rejected", "rejected"]);
  bench.clock.advance(250);
  await bench.receive("q"); // The broker continues with the content of the store.
  expect(bench.broker.health).toBe("ok");
});

test("when the second commit fails, the first stays successful", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  await one.pass();
  two.break();
  await engineTurns();
  expect(states(sends)).toEqual(["resolved", "rejected"]);
  bench.clock.advance(250);
  expect((await bench.receive("q")).map(({ body }) => body)).toEqual(["a"]);
});

test("nothing runs on a commit that has failed and waits for an earlier one (F2)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  await bench.create("f.fifo");
  bench.store.holding = true;
  const first = watch(bench.send("q", entry("a")));
  const one = await bench.store.heldCommit();
  const order = { ...entry("order"), groupId: "g", dedupId: "d" };
  const second = watch(bench.send("f.fifo", order));
  const two = await bench.store.heldCommit();
  two.break();
  const again = watch(bench.send("f.fifo", order)); // A duplicate of a message that was not stored.
  await engineTurns();
  await one.pass();
  expect(states([first, second, again])).toEqual(["resolved", "rejected", "rejected"]);
  bench.store.holding = false;
  bench.clock.advance(250);
  expect(await bench.receive("f.fifo")).toEqual([]);
});

test.each([
  ["while it is open", false],
  ["while it closes", true],
])("a batch that cannot run leaves no later operation waiting, %s", async (_, closing) => {
  const bench = await EngineBench.open({ cacheBytes: 0 });
  await bench.create("q");
  await bench.send("q", entry("a"));
  bench.store.read = () => {
    throw new Error("unreadable");
  };
  const batchMax = 1_000;
  const receive = watch(bench.receive("q"));
  const looks = Array.from({ length: batchMax + 200 }, () =>
    watch(bench.ok("findQueue", { queue: "q" })),
  );
  if (closing) void bench.broker.close();
  await engineTurns(20);
  expect(states([receive, ...looks])).not.toContain("pending");
});

test("nothing is reloaded while a commit is in flight, and one failure counts once (W8)", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  const loads = bench.store.loads;
  one.break();
  await engineTurns();
  bench.clock.advance(10_000); // Long past every pause.
  const late = watch(bench.ok("findQueue", { queue: "q" }));
  await engineTurns();
  expect([bench.store.loads, bench.broker.health, late.state]).toEqual([
    loads,
    "failing",
    "pending",
  ]);
  bench.store.holding = false;
  two.break();
  await engineTurns();
  expect([bench.store.loads, bench.broker.health, late.state]).toEqual([
    loads + 1,
    "ok",
    "resolved",
  ]);
  expect(states(sends)).toEqual(["rejected", "rejected"]);
});

test("a late failure does not lengthen the pause of the first (W8)", async () => {
  const { bench, one, two } = await twoInFlight();
  one.break();
  two.break();
  await engineTurns();
  bench.store.holding = false;
  const loads = bench.store.loads;
  await bench.pass(249);
  expect(bench.store.loads).toBe(loads);
  await bench.pass(1);
  expect(bench.store.loads).toBe(loads + 1);
  bench.store.holding = true;
  const lost = watch(bench.send("q", entry("lost")));
  (await bench.store.heldCommit()).break();
  await engineTurns();
  expect(lost.state).toBe("rejected");
  bench.store.holding = false;
  await bench.pass(249);
  expect(bench.broker.health).toBe("failing");
  await bench.pass(1);
  expect(bench.broker.health).toBe("ok");
});

test("a batch that cannot read does not undo a commit in flight before it (W8)", async () => {
  const bench = await EngineBench.open({ cacheBytes: 0 });
  await bench.create("q");
  await bench.send("q", entry("old"));
  bench.store.holding = true;
  const send = watch(bench.send("q", entry("new")));
  const one = await bench.store.heldCommit();
  const loads = bench.store.loads;
  const { read } = bench.store;
  bench.store.read = () => {
    throw new Error("unreadable");
  };
  const receive = watch(bench.receive("q"));
  await engineTurns();
  expect([send.state, receive.state, bench.broker.health]).toEqual([
    "pending",
    "rejected",
    "failing",
  ]);
  bench.store.read = read;
  bench.clock.advance(10_000);
  await engineTurns();
  expect(bench.store.loads).toBe(loads); // Not before the commit has ended.
  await one.pass();
  expect(send.state).toBe("resolved");
  expect((await bench.receive("q")).map(({ body }) => body)).toEqual(["old", "new"]);
  expect(bench.store.loads).toBe(loads + 1);
});

test("a message whose commit is in flight can be received without any cache", async () => {
  const bench = await EngineBench.open({ cacheBytes: 0 });
  await bench.create("q");
  bench.store.holding = true;
  const send = bench.send("q", entry("a"));
  const one = await bench.store.heldCommit();
  const receive = bench.receive("q");
  const two = await bench.store.heldCommit();
  expect(two.changes.map(({ kind }) => kind)).toEqual(["update-receipt"]);
  const received = watch(receive);
  await one.pass();
  await send;
  expect(received.state).toBe("pending"); // Its receive count is not durable yet (W1).
  await two.pass();
  expect(await receive).toMatchObject([{ body: "a", receiveCount: 1 }]);
});

test("closing waits for both commits, then closes the store", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  const closed = watch(bench.broker.close());
  const idle = watch(bench.broker.idle());
  await one.pass();
  expect([closed.state, idle.state, bench.store.closed]).toEqual(["pending", "pending", false]);
  await two.pass();
  expect([closed.state, idle.state, bench.store.closed]).toEqual(["resolved", "resolved", true]);
  expect(states(sends)).toEqual(["resolved", "resolved"]);
});

test("closing while the first commit fails rejects both, and closes the store", async () => {
  const { bench, sends, one, two } = await twoInFlight();
  const closed = watch(bench.broker.close());
  one.break();
  two.break();
  await engineTurns();
  expect([...states(sends), closed.state]).toEqual(["rejected", "rejected", "resolved"]);
  expect(bench.store.closed).toBe(true);
});

test("a long poll that began on a failed commit is rejected with it (W3)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  await bench.create("empty");
  bench.store.holding = true;
  const send = watch(bench.send("q", entry("a")));
  const one = await bench.store.heldCommit();
  const poll = watch(bench.poll("empty", 20_000));
  await engineTurns();
  one.break();
  await engineTurns();
  expect([send.state, poll.state]).toEqual(["rejected", "rejected"]);
});

test("nothing runs on a batch that changed objects until it is committed (F4)", async () => {
  const bench = await EngineBench.open();
  await bench.create("q");
  bench.store.holding = true;
  const bucket = { bucket: "bucket", region: "us-east-1", tags: null };
  const create = bench.broker.submit("createBucket", bucket);
  await (await bench.store.heldCommit()).pass();
  await create;
  bench.store.holding = true;
  const upload = { bucket: "bucket", key: "k", storageClass: "STANDARD", detail: "{}" };
  const begin = watch(bench.broker.submit("createUpload", upload as never));
  const one = await bench.store.heldCommit();
  expect(one.changes.map(({ kind }) => kind)).toContain("put-upload");
  const send = watch(bench.send("q", entry("a")));
  await engineTurns();
  expect([bench.store.held.length, begin.state, send.state]).toEqual([0, "pending", "pending"]);
  await one.pass();
  await engineTurns();
  expect([begin.state, send.state]).toEqual(["resolved", "resolved"]);
});
