import { describe, expect, test } from "vitest";
import { days, hours, minutes, seconds } from "../../core/units.ts";
import { DEFAULTS } from "../../ingest/spec/define-pipeline.ts";
import type { QueueFacts } from "../../ports/queue-receiver.ts";
import { type CheckedQueue, type StartCheckInput, startFindings } from "../start-check.ts";
import { START_RULES } from "./all-rules.ts";
import { receivesLeast } from "./dead-letter-rules.ts";

const PREFIX = "arn:aws:sqs:eu-west-1:000000000000:";
const COUNTS = { visible: 0, hidden: 0, delayed: 0 };

/** Facts of a well-configured queue, as a QueueReceiver returns them. */
const DEAD: QueueFacts = {
  arn: `${PREFIX}orders-dead`,
  visibilityMs: seconds(60),
  retentionMs: days(14),
  waitMs: seconds(20),
  messageBytesMax: 1_048_576,
  redrive: null,
  ...COUNTS,
};
const GOOD = {
  ...DEAD,
  name: "orders",
  fifo: false,
  arn: `${PREFIX}orders`,
  retentionMs: days(4),
  redrive: { deadLetterArn: DEAD.arn, maxReceiveCount: 25 },
};
const DEAD_FIFO = { ...DEAD, arn: `${PREFIX}orders-dead.fifo` };
const GOOD_FIFO = {
  ...GOOD,
  name: "orders.fifo",
  fifo: true,
  arn: `${PREFIX}orders.fifo`,
  redrive: { deadLetterArn: DEAD_FIFO.arn, maxReceiveCount: 1_000 },
};
const PIPELINE = { attempts: 7, visibilityMs: DEFAULTS.visibilityMs, onPoison: "halt" } as const;

type Queue = StartCheckInput["queue"];

const check = (
  queue: Partial<Queue>,
  dead: Partial<CheckedQueue> | null = {},
  pipeline: Partial<StartCheckInput["pipeline"]> = {},
) => {
  const fifo = queue.fifo ?? false;
  return startFindings({
    queue: { ...(fifo ? GOOD_FIFO : GOOD), ...queue },
    deadLetters: dead === null ? null : { ...(fifo ? DEAD_FIFO : DEAD), ...dead },
    pipeline: { ...PIPELINE, ...pipeline },
  });
};
const ids = (...args: Parameters<typeof check>) => check(...args).map(({ rule }) => rule.name);
const receives = (maxReceiveCount: number, deadLetterArn = DEAD.arn) => ({
  redrive: { deadLetterArn, maxReceiveCount },
});

test("a well-configured queue has no findings", () => {
  expect(check({})).toEqual([]);
  expect(check({ fifo: true })).toEqual([]);
});

describe("the dead-letter queue", () => {
  test.each<[string, string[], Parameters<typeof check>]>([
    ["is missing", ["dead-letters-none"], [{ redrive: null }, null]],
    ["cannot be read", ["dead-letters-unseen"], [{}, null]],
    [
      "is the queue itself",
      ["dead-letters-same"],
      [receives(25, GOOD.arn), { arn: GOOD.arn, retentionMs: days(4) }],
    ],
    [
      "is FIFO, but the queue is not",
      ["dead-letters-type"],
      [receives(25, DEAD_FIFO.arn), DEAD_FIFO],
    ],
    [
      "is standard, but the queue is FIFO",
      ["dead-letters-type"],
      [{ fifo: true, ...receives(1_000) }, DEAD],
    ],
    ["has a redrive policy back to the queue", ["dead-letters-loop"], [{}, receives(3, GOOD.arn)]],
    [
      "has a dead-letter queue itself",
      ["dead-letters-chained"],
      [{}, receives(3, `${PREFIX}third`)],
    ],
    [
      "keeps messages no longer than the queue",
      ["dead-letters-retention"],
      [{}, { retentionMs: days(4) }],
    ],
    [
      "keeps messages for less than the queue, where FIFO starts retention again",
      ["dead-letters-time-left"],
      [{ fifo: true }, { retentionMs: days(2) }],
    ],
    [
      "may have little time left, because standard queues count from the first send",
      ["dead-letters-time-left"],
      [{ retentionMs: days(12) }],
    ],
    [
      "has enough time left, because FIFO restarts retention",
      [],
      [{ fifo: true, retentionMs: days(12) }],
    ],
  ])("%s", (_, expected, args) => {
    expect(ids(...args)).toEqual(expected);
  });
});

describe("maxReceiveCount", () => {
  test("is an error up to the attempts, and a warning below 3.5 times as many", () => {
    expect(ids(receives(3))).toEqual(["receives-below-attempts"]);
    expect(ids(receives(7))).toEqual(["receives-below-attempts"]);
    expect(ids(receives(8))).toEqual(["receives-too-few"]);
    expect(ids(receives(24))).toEqual(["receives-too-few"]);
    expect(ids(receives(25))).toEqual([]);
  });

  test("should grow with the attempts, up to the maximum of SQS", () => {
    expect([1, 7, 10, 100, 1_000].map(receivesLeast)).toEqual([4, 25, 35, 350, 1_000]);
    expect(check(receives(25), {}, { attempts: 10 })[0]?.message).toMatch(/to 35$/);
  });

  test("has to be the maximum of SQS if FIFO groups halt", () => {
    const queue = { fifo: true, ...receives(25, DEAD_FIFO.arn) };
    expect(ids(queue)).toEqual(["receives-break-order"]);
    expect(check(queue)[0]?.message).toContain("overtake");
    expect(ids(queue, {}, { onPoison: "skip" })).toEqual([]);
  });
});

describe("the queue", () => {
  test.each<[string, string[], Partial<Queue>]>([
    ["has no visibility timeout", ["visibility-short"], { visibilityMs: seconds(0) }],
    [
      "has a visibility timeout that is far too short",
      ["visibility-short"],
      { visibilityMs: seconds(29) },
    ],
    [
      "has half of the pipeline's visibility timeout, which is enough",
      [],
      { visibilityMs: seconds(30) },
    ],
    ["uses short polling", ["short-polling"], { waitMs: seconds(0) }],
    ["keeps messages for less than a day", ["retention-short"], { retentionMs: hours(23) }],
  ])("%s", (_, expected, queue) => {
    expect(ids(queue)).toEqual(expected);
  });
});

test("every rule can be broken, and its finding is one clause with a fix", () => {
  const broken = [
    check({ redrive: null, waitMs: seconds(0), visibilityMs: seconds(0) }, null),
    check({ retentionMs: minutes(90) }, null),
    check(receives(25, GOOD.arn)),
    check(receives(2, DEAD_FIFO.arn), DEAD_FIFO),
    check(receives(9), { ...receives(3, GOOD.arn), retentionMs: days(1) }),
    check({ retentionMs: days(11) }, receives(3, `${PREFIX}third`)),
    check({ fifo: true, ...receives(9, DEAD_FIFO.arn) }),
  ].flat();
  expect(new Set(broken.map(({ rule }) => rule))).toEqual(new Set(START_RULES));
  for (const { message, rule } of broken) {
    expect(message, rule.name).toMatch(/^[a-z][^;]+; (set|create|name|remove|check) [^;]+[^.]$/);
    expect(message, rule.name).not.toMatch(/undefined|NaN|null|\. /);
  }
});

test("findings print spans in the largest unit that divides them", () => {
  expect(check({ retentionMs: minutes(90) }).at(-1)?.message).toContain("after 90 minutes");
  expect(check({ retentionMs: hours(1) }).at(-1)?.message).toContain("after 1 hour,");
});
