// Mistakes: for each rule of the doctor about loss, double effects or order, a world with exactly
// that setting, and the same world without it.
//   M1. Spans are scaled down where days would be needed: what matters is which one is longer.
//   M2. `faults` limits the faults to those of some processes, where others would break even the
//       correct world, because a plain consumer remembers nothing.

import { days, hours, minutes, seconds } from "../../core/units.ts";
import { fifoOrder } from "../checkers/fifo-order.ts";
import { NO_FAULTS, NO_RATES } from "../faults/fault-mix.ts";
import { PLAIN_TOPOLOGY } from "../topology.ts";
import { DELIVERY_MISTAKES } from "./delivery-mistakes.ts";
import { neverDoubled, neverLost } from "./outcome-checkers.ts";
import { consumer, type Mistake, type MistakeSide, SMALL, sender } from "./small-world.ts";

const AFTER = { setting: "delete after success", parts: consumer("after-success") };
const PIPELINE = { setting: "a Tidegate pipeline", topology: { sink: "transactional" } } as const;

const OWN_MISTAKES: readonly Mistake[] = [
  {
    rule: "dead-letters-none",
    checker: neverLost,
    shows:
      "The message fails at every receive. Nothing takes it out of the queue, until its retention ends and SQS deletes it.",
    topology: { ...SMALL, hopeless: 1, visibilityMs: minutes(3), retentionMs: minutes(10) },
    rates: {},
    broken: {
      setting: "no dead-letter queue",
      topology: { maxReceiveCount: null },
      parts: consumer("after-success"),
    },
    fixed: {
      setting: "a dead-letter queue after 3 receives",
      topology: { maxReceiveCount: 3 },
      parts: consumer("after-success"),
    },
  },
  {
    rule: "dead-letters-retention",
    checker: neverLost,
    shows:
      "The message is moved late in its life. On a standard queue its age counts from the first send, so it soon expires among the dead letters.",
    topology: {
      ...SMALL,
      hopeless: 1,
      visibilityMs: minutes(2),
      maxReceiveCount: 3,
      retentionMs: minutes(10), // M1
    },
    rates: {},
    broken: {
      setting: "10 minutes in the queue, 10 minutes in the dead-letter queue",
      topology: { deadLetterRetentionMs: minutes(10) },
      parts: consumer("after-success"),
    },
    fixed: {
      setting: "10 minutes in the queue, 14 days in the dead-letter queue",
      topology: { deadLetterRetentionMs: days(14) },
      parts: consumer("after-success"),
    },
  },
  {
    rule: "receives-break-order",
    checker: fifoOrder,
    shows:
      "The first message of the group fails and is moved after three receives. The next one is then delivered before it.",
    topology: { ...SMALL, fifo: true, groups: 1, hopeless: 0.5, attempts: 2, onPoison: "halt" },
    rates: {},
    broken: { setting: "maxReceiveCount 3", topology: { maxReceiveCount: 3 } },
    fixed: { setting: "maxReceiveCount 1000", topology: { maxReceiveCount: 1_000 } },
  },
  {
    rule: "visibility-short",
    checker: neverDoubled,
    shows:
      "The handler takes longer than the timeout. The message becomes visible meanwhile, a second consumer gets it, and both apply it.",
    topology: { ...SMALL, consumers: 2, handlerMsMax: seconds(60) },
    rates: {},
    broken: {
      setting: "a visibility timeout of 3 seconds",
      topology: { visibilityMs: seconds(3) },
      parts: consumer("after-success"),
    },
    fixed: {
      setting: "a visibility timeout of 5 minutes",
      topology: { visibilityMs: minutes(5) },
      parts: consumer("after-success"),
    },
  },
  {
    rule: "retention-short",
    checker: neverLost,
    shows: "The message waits for its retry longer than the queue keeps it.",
    topology: { ...SMALL, flaky: 1, retryBaseMs: hours(1), retryCapMs: hours(1) },
    rates: {},
    broken: { setting: "messages are kept for a minute", topology: { retentionMs: minutes(1) } },
    fixed: { setting: "messages are kept for 4 days", topology: { retentionMs: days(4) } },
  },
  {
    rule: "pipe-to-ecs",
    checker: neverLost,
    shows:
      "The message is acknowledged when its task starts. The task then fails, and nothing is left that could start it again.",
    topology: { ...SMALL, flaky: 1 },
    rates: {},
    broken: {
      setting: "the message is deleted when its task starts",
      parts: consumer("before-handling"),
    },
    fixed: { setting: "the task deletes its message at its end", parts: consumer("after-success") },
  },
  {
    rule: "function-fails-whole-batch",
    checker: neverDoubled,
    shows:
      "One message of the batch fails, so none is deleted. All come back, also those that were applied.",
    topology: { ...SMALL, flaky: 0.5, burstMs: 1 },
    rates: {},
    broken: { setting: "all messages of a batch, or none", parts: consumer("whole-batch") },
    fixed: { setting: "partial batch responses", parts: consumer("after-success") },
  },
  {
    rule: "delete-before-processing",
    checker: neverLost,
    shows:
      "The message is acknowledged first. The process then crashes in its handler, and no copy is left.",
    topology: { ...SMALL, handlerMsMax: seconds(20) },
    rates: { "crash-before": 0.2, "crash-after": 0.2 },
    faults: /^consumer/,
    broken: { setting: "delete before processing", parts: consumer("before-handling") },
    fixed: AFTER,
  },
  {
    rule: "delete-on-failure",
    checker: neverLost,
    shows: "The handler fails once, and the message is acknowledged all the same.",
    topology: { ...SMALL, flaky: 1 },
    rates: {},
    broken: { setting: "delete in finally", parts: consumer("whatever-happens") },
    fixed: AFTER,
  },
  {
    rule: "no-idempotency",
    checker: neverDoubled,
    shows: "The same message is received twice. The consumer does not remember the first time.",
    topology: SMALL,
    rates: { duplicate: 0.2, refused: 0.2 },
    faults: /^consumer/,
    broken: { setting: "nothing is remembered", parts: consumer("after-success") },
    fixed: PIPELINE,
  },
  {
    rule: "batch-failures-ignored",
    checker: neverLost,
    shows:
      "The call succeeds, but the queue has refused one of its entries. The program does not look.",
    topology: SMALL,
    rates: { partial: 0.5 },
    faults: /^producer/,
    broken: { setting: "Failed is not read", parts: sender({ ignoresFailures: true }) },
    fixed: { setting: "failed entries are sent again", parts: sender({}) },
  },
  {
    rule: "batch-truncated",
    checker: neverLost,
    shows: "The batch has more than ten entries. Those after the tenth are never sent.",
    topology: { ...SMALL, events: 12, burstMs: 1 },
    rates: {},
    broken: { setting: "the first ten entries", parts: sender({ entriesMax: 10 }) },
    fixed: { setting: "batches of ten", parts: sender({}) },
  },
  {
    rule: "write-then-send",
    checker: neverLost,
    shows:
      "The process crashes after it wrote its row and before it sent. After the restart it finds the row and takes the event for sent.",
    topology: SMALL,
    rates: { "crash-before": 0.2 },
    faults: /^producer/,
    broken: {
      setting: "a row that exists is not sent",
      parts: sender({ skipsExistingRows: true }),
    },
    fixed: { setting: "a row that exists is sent again", parts: sender({}) },
  },
  {
    rule: "dedup-id-volatile",
    checker: neverDoubled,
    shows:
      "The answer to a send is lost, so the program sends again, with another deduplication id. The queue takes it for another message.",
    topology: { ...SMALL, fifo: true, maxReceiveCount: 1_000 },
    rates: { "answer-lost": 0.4 },
    faults: /^producer.*queue\.send#/,
    broken: { setting: "a random deduplication id", parts: sender({ randomIds: true }) },
    fixed: { setting: "an id of the event", parts: sender({}) },
  },
  {
    rule: "body-volatile",
    checker: neverDoubled,
    shows:
      "The answer to a send is lost, so the program sends again, with a body that has changed. The queue hashes it and takes it for another message.",
    topology: { ...SMALL, fifo: true, maxReceiveCount: 1_000 },
    rates: { "answer-lost": 0.4 },
    faults: /^producer.*queue\.send#/,
    broken: {
      setting: "an id that is the hash of a changed body",
      parts: sender({ randomIds: true }),
    },
    fixed: { setting: "an id of the event", parts: sender({}) },
  },
];

export const MISTAKES: readonly Mistake[] = [...OWN_MISTAKES, ...DELIVERY_MISTAKES];

/** What a run of a side needs, in addition to its seed. */
export function optionsOf({ checker, topology, rates }: Mistake, side: MistakeSide) {
  return {
    topology: { ...PLAIN_TOPOLOGY, ...topology, ...side.topology },
    mix: { ...NO_FAULTS, rates: { ...NO_RATES, ...rates } },
    checkers: [checker],
    ...(side.parts !== undefined && { parts: side.parts }),
  };
}
