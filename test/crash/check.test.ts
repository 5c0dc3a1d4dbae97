// Tests the checker itself: each test plants one violation and expects the checker to report it.

import { expect, test } from "vitest";
import { checkObservation, type Observation, type Peeked } from "./check.ts";
import {
  answerDelete,
  answerSend,
  askSend,
  createFacts,
  type Facts,
  type MessageFact,
  queueFacts,
} from "./facts.ts";
import { QUEUES } from "./queue-plan.ts";
import { resolveUnknowns } from "./resolve-unknowns.ts";

const NOW = 1_000_000;

interface World {
  readonly facts: Facts;
  /** The messages of each queue, for tampering. */
  readonly held: Map<string, Peeked[]>;
  /** The move tasks that the server lists. */
  moveTasks: string[];
}

function createWorld(): World {
  const held = new Map(QUEUES.map(({ name }) => [name, [] as Peeked[]]));
  return { facts: createFacts(), held, moveTasks: [] };
}

function observe(world: World): Observation {
  const { held, facts } = world;
  const queues = [...held].map(([name, messages]) => ({
    name,
    messages,
    counted: messages.length,
    settings: new Map(
      [...queueFacts(facts, name).settings].map(([key, { acked }]) => [key, acked]),
    ),
  }));
  return { endedMs: NOW, queues, moveTasks: world.moveTasks };
}

let lastSeq = 0;
/** A message that was sent and acknowledged, and is in its queue. */
function sent(world: World, body: string, queue = "plain", groupId: string | null = null) {
  lastSeq += 1;
  const dedupId = groupId === null ? null : body;
  const fact = askSend(world.facts, { body, queue, groupId, dedupId, client: 0 }, NOW);
  const sequenceNumber = groupId === null ? null : `${lastSeq}`.padStart(20, "0");
  answerSend(world.facts, fact, { messageId: `id-${body}`, sequenceNumber });
  const peeked: Peeked = {
    seq: lastSeq,
    messageId: `id-${body}`,
    body,
    groupId,
    state: "visible",
    dueAt: 0,
    receiveCount: 0,
  };
  world.held.get(queue)?.push(peeked);
  return fact;
}

/** Changes the server's copy of a message; null removes it. */
function tamper(world: World, body: string, change: Partial<Peeked> | null): void {
  for (const [name, messages] of world.held) {
    const index = messages.findIndex((peeked) => peeked.body === body);
    const message = messages[index];
    if (message === undefined) continue;
    if (change === null) messages.splice(index, 1);
    else messages[index] = { ...message, ...change };
    world.held.set(name, messages);
    return;
  }
}

const received = (fact: MessageFact, count: number, untilMs: number | null): void => {
  fact.receiveCount = count;
  fact.hidden = untilMs === null ? null : { minMs: untilMs, maxMs: untilMs + 10 };
};

const check = (world: World): string[] => checkObservation(world.facts, observe(world));

test("a server that holds everything it acknowledged has no violations", () => {
  const world = createWorld();
  sent(world, "a");
  sent(world, "b", "ordered.fifo", "g");
  answerDelete(world.facts, sent(world, "c"));
  tamper(world, "c", null);
  expect(check(world)).toEqual([]);
});

test("a lost message is reported", () => {
  const world = createWorld();
  sent(world, "a");
  tamper(world, "a", null);
  expect(check(world)).toEqual(["a: was acknowledged and is lost"]);
});

test("a deleted message that came back is reported", () => {
  const world = createWorld();
  answerDelete(world.facts, sent(world, "a"));
  expect(check(world)).toEqual(["a: came back to plain after its delete"]);
});

test("a message that is there twice is reported, in one queue or in two", () => {
  const world = createWorld();
  sent(world, "a");
  sent(world, "b", "work");
  for (const [body, queue] of [["a", "plain"] as const, ["b", "dead"] as const]) {
    const copy = [...world.held.values()].flat().find((peeked) => peeked.body === body);
    world.held.get(queue)?.push({ ...copy, seq: 99 } as Peeked);
  }
  expect(check(world)).toEqual(["a: is there 2 times", "b: is there 2 times"]);
});

test("a message that was never sent is reported", () => {
  const world = createWorld();
  sent(world, "a");
  tamper(world, "a", { body: "probe of a" });
  expect(check(world)).toEqual([
    "probe of a: is in plain but was never sent",
    "a: was acknowledged and is lost",
  ]);
});

test("a changed message id is reported", () => {
  const world = createWorld();
  sent(world, "a");
  tamper(world, "a", { messageId: "other" });
  expect(check(world)).toEqual(["a: was acknowledged as id-a, is other"]);
});

test("a receive count that decreased, or grew without a receive, is reported", () => {
  const world = createWorld();
  received(sent(world, "a"), 3, null);
  tamper(world, "a", { receiveCount: 2 });
  sent(world, "b");
  tamper(world, "b", { receiveCount: 1 });
  expect(check(world)).toEqual([
    "a: receive count decreased from 3 to 2",
    "b: receive count 1 is above 0",
  ]);
});

test("an unanswered receive may have been counted, once", () => {
  const world = createWorld();
  sent(world, "a");
  queueFacts(world.facts, "plain").openReceives = 1;
  tamper(world, "a", { receiveCount: 1, state: "in-flight", dueAt: NOW + 60_000 });
  expect(check(world)).toEqual([]);
  tamper(world, "a", { receiveCount: 2 });
  expect(check(world)).toEqual(["a: receive count 2 is above 1"]);
});

test("a message that is visible too early is reported", () => {
  const world = createWorld();
  received(sent(world, "a"), 1, NOW + 60_000);
  tamper(world, "a", { receiveCount: 1 });
  expect(check(world)).toEqual(["a: is visible before its visibility ended"]);
});

test("a visibility deadline that moved is reported, in either direction", () => {
  for (const shiftMs of [-1_000, 1_000]) {
    const world = createWorld();
    received(sent(world, "a"), 1, NOW + 60_000);
    const dueAt = NOW + 60_000 + shiftMs;
    tamper(world, "a", { receiveCount: 1, state: "in-flight", dueAt });
    expect(check(world)).toEqual([
      `a: is due at ${dueAt}, but 1060000 to 1060010 was acknowledged`,
    ]);
  }
});

test("a message may be in the dead-letter queue only after its receives", () => {
  const world = createWorld();
  const fact = sent(world, "a", "work");
  const [peeked] = world.held.get("work") as [Peeked];
  tamper(world, "a", null);
  world.held.get("dead")?.push({ ...peeked, receiveCount: 1 });
  received(fact, 1, null);
  expect(check(world)).toEqual(["a: moved to the dead-letter queue too early"]);
  received(fact, 2, null);
  tamper(world, "a", { receiveCount: 2 });
  expect(check(world)).toEqual([]);
  received(fact, 2, NOW + 60_000);
  expect(check(world)).toEqual(["a: moved to the dead-letter queue before its visibility ended"]);
});

test("a dead letter that came back, or is in the wrong queue, is reported", () => {
  const world = createWorld();
  sent(world, "a", "work").dead = true;
  sent(world, "b");
  const [peeked] = world.held.get("plain") as [Peeked];
  tamper(world, "b", null);
  world.held.get("dead")?.push(peeked);
  expect(check(world)).toEqual([
    "a: came back from the dead-letter queue",
    "b: was sent to plain, is in dead",
  ]);
});

test("a group in another order is reported", () => {
  const world = createWorld();
  sent(world, "a", "ordered.fifo", "g");
  sent(world, "b", "ordered.fifo", "g");
  tamper(world, "a", { seq: lastSeq + 1 });
  expect(check(world)).toEqual(["a: is behind b of its group"]);
});

test("a setting that differs from the acknowledged one is reported, unless a change is pending", () => {
  const world = createWorld();
  const setting = { acked: "1", asked: null as string | null };
  queueFacts(world.facts, "plain").settings.set("tag t", setting);
  const observation = observe(world);
  setting.acked = "2";
  expect(checkObservation(world.facts, observation)).toEqual([
    "plain: tag t is 1, but 2 was acknowledged",
  ]);
  setting.asked = "1";
  expect(checkObservation(world.facts, observation)).toEqual([]);
});

test("a count that differs from the number of messages is reported", () => {
  const world = createWorld();
  const observation = observe(world);
  const queues = observation.queues.map((queue) => ({
    ...queue,
    counted: queue.name === "dead" ? 1 : 0,
  }));
  expect(checkObservation(world.facts, { ...observation, queues })).toEqual([
    "dead: counts 1, holds 0",
  ]);
});

test("an unanswered request may have been carried out or not; the observation decides", () => {
  for (const done of [true, false]) {
    const world = createWorld();
    const send = sent(world, "a");
    Object.assign(send, { send: "unknown", messageId: null });
    if (!done) tamper(world, "a", null);
    const removed = sent(world, "b");
    removed.delete = "unknown";
    if (done) tamper(world, "b", null);
    expect(check(world)).toEqual([]);
    resolveUnknowns(world.facts, observe(world));
    expect(send.send).toBe(done ? "acked" : "refused-by-crash");
    expect(removed.delete).toBe(done ? "acked" : "none");
  }
});

test("a message that a crash rejected must not appear later", () => {
  const world = createWorld();
  sent(world, "a").send = "refused-by-crash";
  expect(check(world)).toEqual(["a: appeared after a crash that rejected it"]);
});

/** Moves a message to the destination of move tasks, under a new id. */
function moveAway(world: World, body: string): void {
  const [peeked] = world.held.get("stranded")?.filter((each) => each.body === body) ?? [];
  tamper(world, body, null);
  world.held.get("returned")?.push({ ...(peeked as Peeked), messageId: "new" });
}

test("a message may be moved by a task that was started, and only once", () => {
  const world = createWorld();
  const fact = sent(world, "a", "stranded");
  moveAway(world, "a");
  expect(check(world)).toEqual([
    "a: was sent to stranded, is in returned",
    "a: was acknowledged as id-a, is new",
  ]);
  world.facts.moves.acked = 1;
  world.moveTasks = ["COMPLETED"];
  expect(check(world)).toEqual([]);
  resolveUnknowns(world.facts, observe(world));
  expect(fact.messageId).toBe("new");
  tamper(world, "a", { messageId: "newer" });
  expect(check(world)).toEqual(["a: was acknowledged as new, is newer"]);
  sent(world, "a", "stranded");
  expect(check(world)).toContain("a: is there 2 times");
});

test("a move task that is lost, stuck or was never started is reported", () => {
  const world = createWorld();
  world.facts.moves.acked = 1;
  expect(check(world)).toEqual(["a move task was acknowledged and is lost: 0 of 1 remain"]);
  world.moveTasks = ["RUNNING"];
  expect(check(world)).toEqual(["a move task does not finish: RUNNING"]);
  world.moveTasks = ["COMPLETED", "COMPLETED"];
  expect(check(world)).toEqual(["a move task exists that no client started"]);
  world.facts.moves.asked = true;
  expect(check(world)).toEqual([]);
});

test("a message that a completed move task left behind is reported", () => {
  const world = createWorld();
  const facts = ["a", "b"].map((body) => sent(world, body, "stranded"));
  Object.assign(world.facts.moves, { acked: 1, mustMove: new Set(facts) });
  world.moveTasks = ["COMPLETED"];
  moveAway(world, "a");
  expect(check(world)).toEqual(["b: was left behind by a completed move task"]);
});

test("a delayed message that is visible or in flight too early is reported", () => {
  for (const state of ["visible", "in-flight"] as const) {
    const world = createWorld();
    received(sent(world, "a"), 0, NOW + 60_000);
    tamper(world, "a", { state: "delayed", dueAt: NOW + 60_000 });
    expect(check(world)).toEqual([]);
    tamper(world, "a", { state });
    expect(check(world)).toEqual([`a: is ${state} before its visibility ended`]);
  }
});

test("a message sent during a purge may be purged with it, and none sent later", () => {
  const world = createWorld();
  world.facts.purging.add("purged-1");
  sent(world, "a", "purged-1");
  tamper(world, "a", null);
  expect(check(world)).toEqual([]);
  resolveUnknowns(world.facts, observe(world));
  sent(world, "b", "purged-1");
  tamper(world, "b", null);
  expect(check(world)).toEqual(["b: was acknowledged and is lost"]);
});
