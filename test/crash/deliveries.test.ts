// Tests the check of deliveries: each test plants one contradiction with earlier responses.

import { expect, test } from "vitest";
import { answerReceive } from "./deliveries.ts";
import {
  answerDelete,
  answerDuplicate,
  answerSend,
  askSend,
  checkNewSequence,
  createFacts,
  type Facts,
  queueFacts,
} from "./facts.ts";

const NOW = 1_000_000;

function sent(facts: Facts, body: string, queue = "plain", number = 0) {
  const groupId = queue.endsWith(".fifo") ? "g" : null;
  const fact = askSend(facts, { body, queue, groupId, dedupId: groupId && body, client: 0 }, NOW);
  const sequenceNumber = groupId === null ? null : `${number}`.padStart(20, "0");
  answerSend(facts, fact, { messageId: `id-${body}`, sequenceNumber });
  return fact;
}

function receive(facts: Facts, queue: string, ...bodies: readonly string[]): string[] {
  const messages = bodies.map((body) => ({
    body,
    messageId: `id-${body}`,
    sequenceNumber: null,
    receiveCount: (facts.messages.get(body)?.receiveCount ?? 0) + 1,
  }));
  const times = { askedMs: NOW, answeredMs: NOW + 5, visibilityMs: 60_000 };
  answerReceive(facts, { queue, ...times, messages });
  return facts.violations;
}

test("a first delivery has no violations, and its message is in flight", () => {
  const facts = createFacts();
  const fact = sent(facts, "a");
  expect(receive(facts, "plain", "a")).toEqual([]);
  expect(fact).toMatchObject({ receiveCount: 1, hidden: { minMs: 1_060_000, maxMs: 1_060_005 } });
});

test("the delivery of an in-flight, a deleted and an unknown message is reported", () => {
  const facts = createFacts();
  sent(facts, "hidden").hidden = { minMs: NOW + 9_000, maxMs: NOW + 9_000 };
  answerDelete(facts, sent(facts, "deleted"));
  expect(receive(facts, "plain", "hidden", "deleted", "stranger")).toEqual([
    "hidden: delivered 8895 ms before its visibility ended",
    "deleted: delivered after its delete was acknowledged",
    "stranger: delivered from plain but never sent",
  ]);
});

test("a receive count that does not grow, or jumps, is reported", () => {
  for (const receiveCount of [2, 4]) {
    const facts = createFacts();
    sent(facts, "a").receiveCount = 2;
    const messages = [{ body: "a", messageId: "id-a", sequenceNumber: null, receiveCount }];
    const times = { askedMs: NOW, answeredMs: NOW, visibilityMs: 0 };
    answerReceive(facts, { queue: "plain", ...times, messages });
    expect(facts.violations).toEqual([`a: receive count ${receiveCount} should be 3 to 3`]);
  }
});

test("a message that overtakes its group is reported, unless the earlier one may be gone", () => {
  const facts = createFacts();
  const first = sent(facts, "a", "ordered.fifo", 1);
  sent(facts, "b", "ordered.fifo", 2);
  expect(receive(facts, "ordered.fifo", "b")).toEqual(["b: delivered before a of its group"]);
  facts.violations.length = 0;
  first.delete = "unknown";
  expect(receive(facts, "ordered.fifo", "b").filter((text) => text.includes("group"))).toEqual([]);
});

test("a group in one response must be in order", () => {
  const facts = createFacts();
  sent(facts, "a", "ordered.fifo", 1);
  sent(facts, "b", "ordered.fifo", 2);
  expect(receive(facts, "ordered.fifo", "a", "b")).toEqual([]);
  const other = createFacts();
  sent(other, "a", "ordered.fifo", 1);
  sent(other, "b", "ordered.fifo", 2);
  expect(receive(other, "ordered.fifo", "b", "a")).toEqual(["b: delivered before a of its group"]);
});

test("a delivery from the wrong queue, and one of a dead-lettered message, are reported", () => {
  const facts = createFacts();
  sent(facts, "a");
  sent(facts, "b", "work").dead = true;
  receive(facts, "dead", "a");
  expect(receive(facts, "work", "b")).toEqual([
    "a: sent to plain and delivered from dead",
    "b: came back from the dead-letter queue",
  ]);
});

test("a duplicate must get the same response as the original", () => {
  const facts = createFacts();
  const fact = sent(facts, "a", "ordered.fifo", 7);
  answerDuplicate(facts, fact, { messageId: "id-a", sequenceNumber: "7".padStart(20, "0") });
  expect(facts.violations).toEqual([]);
  answerDuplicate(facts, fact, { messageId: "other", sequenceNumber: "8".padStart(20, "0") });
  expect(facts.violations).toHaveLength(2);
});

test("sequence numbers must grow in a group and over restarts", () => {
  const facts = createFacts();
  checkNewSequence(facts, sent(facts, "a", "ordered.fifo", 5));
  checkNewSequence(facts, sent(facts, "b", "ordered.fifo", 6));
  expect(facts.violations).toEqual([]);
  checkNewSequence(facts, sent(facts, "c", "ordered.fifo", 6));
  expect(facts.violations.pop()).toContain("which its group already has");
  queueFacts(facts, "ordered.fifo").sequenceFloor = "9".padStart(20, "0");
  checkNewSequence(facts, sent(facts, "d", "ordered.fifo", 8));
  expect(facts.violations.pop()).toContain("which was assigned before the restart");
});
