import { expect, test } from "vitest";
import { arn, entry, inGroup, ModelBench } from "../../../../../test/support/broker/model-bench.ts";
import { createSeededRandom } from "../../../../core/seeded-random.ts";
import type { MoveTaskView, ReceivedCopy } from "../../operations.ts";
import { nextMoveAt, runMoveTasks } from "./move-task.ts";

function redriveTo(target: string, maxReceiveCount = 1) {
  const deadLetterTargetArn = arn(target);
  return { RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }) };
}

/** A queue with a dead-letter queue that contains `count` of its messages. */
function benchWithDeadLetters(count: number, suffix = ""): ModelBench {
  const bench = new ModelBench();
  bench.create(`dead${suffix}`);
  bench.create(`q${suffix}`, redriveTo(`dead${suffix}`));
  bury(bench, `q${suffix}`, count);
  return bench;
}

/** Sends, receives and lets time out, so that the next receive moves them all. */
function bury(bench: ModelBench, queue: string, count: number): void {
  for (let number = 1; number <= count; number += 1) {
    bench.send(queue, queue.endsWith(".fifo") ? inGroup("g", `${number}`) : entry(`${number}`));
  }
  while (bench.receive(queue).length > 0);
  bench.pass(30_000);
  expect(bench.bodies(queue)).toEqual([]);
}

function start(
  bench: ModelBench,
  source: string,
  more: { destinationArn?: string | null; perSecondMax?: number } = {},
): string {
  return bench.ok("startMoveTask", {
    sourceArn: arn(source),
    destinationArn: null,
    perSecondMax: null,
    ...more,
  }).handle;
}

function run(bench: ModelBench): void {
  runMoveTasks(bench.state, bench.step);
}

function task(bench: ModelBench, source: string): MoveTaskView {
  const { tasks } = bench.ok("listMoveTasks", { sourceArn: arn(source), limit: 1 });
  return tasks[0] as MoveTaskView;
}

test("messages return to their source queue, as new messages", () => {
  const bench = benchWithDeadLetters(2);
  const [old] = bench.receive("dead", { max: 1, visibilityMs: 0 as never }) as [ReceivedCopy];
  bench.pass(1_000);
  start(bench, "dead");
  expect(task(bench, "dead")).toMatchObject({ status: "RUNNING", moved: 0, toMove: 2 });
  run(bench);
  run(bench);
  expect(task(bench, "dead")).toMatchObject({ status: "COMPLETED", moved: 2, failureReason: null });
  const back = bench.receive("q");
  expect(back.map(({ body }) => body)).toEqual(expect.arrayContaining(["1", "2"]));
  for (const delivery of back) {
    expect(delivery).toMatchObject({
      receiveCount: 1,
      sentAt: bench.now,
      firstReceivedAt: bench.now,
      sourceArn: null,
    });
    expect(delivery.messageId).not.toBe(old.messageId);
  }
  expect(nextMoveAt(bench.state)).toBe(null);
});

test("without a destination, each message returns to its own source", () => {
  const bench = benchWithDeadLetters(1);
  bench.create("other", redriveTo("dead"));
  bench.send("other", entry("x"));
  bench.receive("other");
  bench.pass(30_000);
  bench.receive("other");
  start(bench, "dead");
  run(bench);
  expect([bench.bodies("q"), bench.bodies("other")]).toEqual([["1"], ["x"]]);
});

test("with a destination, all messages go there", () => {
  const bench = benchWithDeadLetters(3);
  bench.create("elsewhere");
  start(bench, "dead", { destinationArn: arn("elsewhere") });
  run(bench);
  expect(bench.counts("elsewhere")).toEqual([3, 0, 0]);
  expect(bench.counts("q")).toEqual([0, 0, 0]);
});

test("a moved FIFO message has its new id as deduplication id and keeps group and order", () => {
  const bench = benchWithDeadLetters(3, ".fifo");
  start(bench, "dead.fifo");
  run(bench);
  const back = bench.receive("q.fifo");
  expect(back.map(({ body, groupId }) => [body, groupId])).toEqual([
    ["1", "g"],
    ["2", "g"],
    ["3", "g"],
  ]);
  for (const { dedupId, messageId } of back) expect(dedupId).toBe(messageId);
});

test("a task keeps its rate: the first message immediately, then one every 1/rate seconds", () => {
  const bench = benchWithDeadLetters(4);
  start(bench, "dead", { perSecondMax: 2 });
  const movedAfter = (ms: number) => {
    bench.pass(ms);
    run(bench);
    return task(bench, "dead").moved;
  };
  expect(movedAfter(0)).toBe(1);
  expect(movedAfter(0)).toBe(1);
  expect(nextMoveAt(bench.state)).toBe(bench.now + 500);
  expect(movedAfter(499)).toBe(1);
  expect(movedAfter(1)).toBe(2);
  expect(movedAfter(500)).toBe(3);
  expect(movedAfter(500)).toBe(4);
  expect(movedAfter(500)).toBe(4);
  expect(task(bench, "dead").status).toBe("COMPLETED");
});

test("no second sees more than the rate, however late the steps come (T5)", () => {
  for (const perSecondMax of [1, 2, 19, 21, 50, 499, 500]) {
    const bench = benchWithDeadLetters(1_200);
    start(bench, "dead", { perSecondMax });
    const moves: { at: number; count: number }[] = [];
    const random = createSeededRandom(perSecondMax);
    for (let steps = 150; steps > 0; steps -= 1) {
      const before = task(bench, "dead").moved;
      run(bench);
      moves.push({ at: bench.now, count: task(bench, "dead").moved - before });
      // Mostly on time, at times late, once in a while after an hour of sleep.
      const early = Math.max(0, (nextMoveAt(bench.state) ?? bench.now) - bench.now);
      const draw = random.below(20);
      bench.pass(draw === 0 ? 3_600_000 : draw < 5 ? random.below(400) : early);
    }
    for (const { at } of moves) {
      const second = moves.filter((move) => move.at >= at && move.at < at + 1_000);
      const sum = second.reduce((total, { count }) => total + count, 0);
      expect(sum).toBeLessThanOrEqual(perSecondMax);
    }
  }
});

test("a task that runs on time reaches almost its rate", () => {
  for (const perSecondMax of [1, 7, 60, 250, 500]) {
    const bench = benchWithDeadLetters(1_000);
    start(bench, "dead", { perSecondMax });
    const until = bench.now + 1_900;
    while (bench.now < until && nextMoveAt(bench.state) !== null) {
      run(bench);
      bench.pass(Math.max(0, (nextMoveAt(bench.state) ?? until) - bench.now));
    }
    expect(task(bench, "dead").moved).toBeGreaterThanOrEqual(Math.floor(1.75 * perSecondMax));
  }
});

test("the count is committed with the messages it counts, at most a hundred to a step (T2)", () => {
  const bench = benchWithDeadLetters(150);
  start(bench, "dead");
  const before = bench.changes.length;
  run(bench);
  const kinds = bench.changes.slice(before).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "move-message")).toHaveLength(100);
  expect(kinds.at(-1)).toBe("put-document");
  expect(task(bench, "dead")).toMatchObject({ moved: 100, status: "RUNNING" });
  run(bench);
  expect(task(bench, "dead")).toMatchObject({ moved: 150, status: "COMPLETED" });
});

test("messages in flight in the source are not moved", () => {
  const bench = benchWithDeadLetters(2);
  bench.receive("dead", { max: 1 });
  start(bench, "dead");
  run(bench);
  expect(task(bench, "dead")).toMatchObject({ status: "COMPLETED", moved: 1 });
  expect(bench.counts("dead")).toEqual([0, 1, 0]);
});

test("a task into its own source ends, however many steps it takes", () => {
  for (const perSecondMax of [null, 500]) {
    const bench = benchWithDeadLetters(250);
    const more = { destinationArn: arn("dead"), ...(perSecondMax ? { perSecondMax } : {}) };
    start(bench, "dead", more);
    for (let steps = 20; steps > 0; steps -= 1) {
      run(bench);
      bench.pass(1_000);
    }
    expect(task(bench, "dead")).toMatchObject({ status: "COMPLETED", moved: 250 });
    expect(bench.counts("dead")).toEqual([250, 0, 0]);
  }
});

test.each(["", ".fifo"])(
  "a task of a queue that collects its own dead letters%s ends",
  (suffix) => {
    const bench = new ModelBench();
    const queue = `q${suffix}`;
    bench.create(queue, redriveTo(queue));
    const bodies = ["1", "2", "3"];
    const group = (body: string) => (suffix === "" ? entry(body) : inGroup("g", body));
    for (const body of bodies) bench.send(queue, group(body));
    for (let time = 0; time < 2; time += 1) {
      expect(bench.bodies(queue).sort()).toEqual(bodies);
      bench.pass(30_000);
    }
    start(bench, queue);
    run(bench);
    expect(task(bench, queue)).toMatchObject({ status: "COMPLETED", moved: 3 });
    expect(bench.counts(queue)).toEqual([3, 0, 0]);
  },
);

test.each([null, arn("q.fifo")])(
  "a FIFO queue of several groups is moved into itself, each message once and in its order (T6)",
  (destinationArn) => {
    const bench = new ModelBench();
    bench.create("q.fifo", redriveTo("q.fifo"));
    const sent = ["a1", "a2", "b1", "c1", "c2", "c3", "a3", "b2"];
    for (const body of sent) bench.send("q.fifo", inGroup(body.slice(0, 1), body));
    for (let time = 0; time < 2; time += 1) {
      expect(bench.bodies("q.fifo")).toHaveLength(sent.length);
      bench.pass(30_000);
    }
    start(bench, "q.fifo", { destinationArn, perSecondMax: 3 });
    bench.send("q.fifo", inGroup("b", "b3"), inGroup("d", "d1")); // Sent after the task began.
    const moves = bench.changes.length;
    for (let steps = 20; steps > 0; steps -= 1) {
      run(bench);
      bench.pass(1_000);
    }
    expect(task(bench, "q.fifo")).toMatchObject({ status: "COMPLETED", moved: sent.length });
    const from = bench.changes.slice(moves).flatMap((each) => {
      return each.kind === "move-message" ? [each.from] : [];
    });
    expect(new Set(from).size).toBe(sent.length);
    const bodies = bench.bodies("q.fifo", { max: 10 });
    const ofGroup = (name: string) => bodies.filter((body) => body.startsWith(name));
    expect(["a", "c", "d"].map(ofGroup)).toEqual([["a1", "a2", "a3"], ["c1", "c2", "c3"], ["d1"]]);
  },
);

test("a message that was sent to the dead-letter queue directly has no source to return to (T4)", () => {
  const bench = benchWithDeadLetters(0);
  bench.send("dead", entry("direct"));
  start(bench, "dead");
  run(bench);
  expect(task(bench, "dead")).toMatchObject({
    status: "FAILED",
    failureReason: "CouldNotDetermineMessageSource",
  });
  expect(bench.counts("dead")).toEqual([1, 0, 0]);
});

test("a task fails when its destination is deleted (T4)", () => {
  const bench = benchWithDeadLetters(2);
  bench.create("elsewhere");
  start(bench, "dead", { destinationArn: arn("elsewhere") });
  bench.ok("deleteQueue", { queue: "elsewhere" });
  run(bench);
  const failureReason = "AWS.SimpleQueueService.NonExistentQueue";
  expect(task(bench, "dead")).toMatchObject({ status: "FAILED", failureReason, moved: 0 });
});

test("tasks are deleted with their source, whether they have ended or not (T7)", () => {
  const bench = benchWithDeadLetters(2);
  start(bench, "dead");
  run(bench);
  bury(bench, "q", 2);
  start(bench, "dead", { perSecondMax: 1 });
  run(bench);
  const before = bench.changes.length;
  bench.ok("deleteQueue", { queue: "dead" });
  const forgotten = bench.changes.slice(before).filter(({ kind }) => kind === "delete-document");
  expect(forgotten).toMatchObject([
    { collection: "move-task" },
    { collection: "move-task" },
    { collection: "queue" },
  ]);
  expect([bench.state.moveTasks.size, nextMoveAt(bench.state)]).toEqual([0, null]);
  run(bench);
  bench.pass(60_000);
  bench.create("dead");
  expect(bench.ok("listMoveTasks", { sourceArn: arn("dead"), limit: 10 }).tasks).toEqual([]);
});
