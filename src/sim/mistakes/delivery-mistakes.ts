// Delivery mistakes: settings of queues, keys, policies and notifications, as worlds. Also those
// rules about loss and double effects for which no world exists, and why.
//   D1. A sender that AWS refuses drops what it cannot deliver: S3 and SNS have no outbox.

import { days, minutes, seconds } from "../../core/units.ts";
import { neverDoubled, neverLost } from "./outcome-checkers.ts";
import { consumer, type Mistake, SMALL, sender } from "./small-world.ts";

/** SQS refuses a redrive policy, so the queue has none. */
function refusedRedrive(rule: string, setting: string, fix: string): Mistake {
  const after = consumer("after-success");
  return {
    rule,
    checker: neverLost,
    shows:
      "SQS refuses the redrive policy, so the queue has no dead-letter queue. The message fails " +
      "at every receive until its retention ends.",
    topology: { ...SMALL, hopeless: 1, visibilityMs: minutes(3), retentionMs: minutes(10) },
    rates: {},
    broken: { setting, topology: { maxReceiveCount: null }, parts: after },
    fixed: { setting: fix, topology: { maxReceiveCount: 3 }, parts: after },
  };
}

/** Nothing that a sender sends arrives (D1). */
function dropped(rule: string, setting: string, shows: string, fix: string): Mistake {
  return {
    rule,
    checker: neverLost,
    shows,
    topology: { ...SMALL, events: 1 },
    rates: {},
    broken: { setting, parts: sender({ copies: 0 }) },
    fixed: { setting: fix, parts: sender({}) },
  };
}

const REFUSED = "Every send is refused. The service that sends keeps no copy.";
const SILENT = "The event happens, and no message of it is ever sent.";

export const DELIVERY_MISTAKES: readonly Mistake[] = [
  refusedRedrive(
    "dead-letters-type",
    "a FIFO dead-letter queue for a standard queue",
    "a dead-letter queue of the same type",
  ),
  refusedRedrive(
    "receives-missing",
    "a redrive policy without maxReceiveCount",
    "a redrive policy with maxReceiveCount 3",
  ),
  refusedRedrive(
    "redrive-refused",
    "a dead-letter queue that does not allow this source",
    "a dead-letter queue that allows it",
  ),
  refusedRedrive(
    "queue-name",
    "a dead-letter queue named orders.fifo.dlt, which AWS does not create",
    "a dead-letter queue with a name that AWS accepts",
  ),
  {
    rule: "dead-letters-time-left",
    checker: neverLost,
    shows: "The message is moved with little of its life left, and expires before anybody looks.",
    topology: {
      ...SMALL,
      hopeless: 1,
      visibilityMs: minutes(2),
      maxReceiveCount: 3,
      retentionMs: minutes(10), // M1 of mistakes.ts
    },
    rates: {},
    broken: {
      setting: "10 minutes in the queue, 12 minutes in the dead-letter queue",
      topology: { deadLetterRetentionMs: minutes(12) },
      parts: consumer("after-success"),
    },
    fixed: {
      setting: "10 minutes in the queue, 14 days in the dead-letter queue",
      topology: { deadLetterRetentionMs: days(14) },
      parts: consumer("after-success"),
    },
  },
  {
    rule: "visibility-below-function",
    checker: neverDoubled,
    shows:
      "The function still runs when the message becomes visible again. A second invocation gets " +
      "it, and both apply it.",
    topology: { ...SMALL, consumers: 2, handlerMsMax: seconds(60) },
    rates: {},
    broken: {
      setting: "a function of up to 60 seconds, and a visibility timeout of 3 seconds",
      topology: { visibilityMs: seconds(3) },
      parts: consumer("after-success"),
    },
    fixed: {
      setting: "a visibility timeout of six times the timeout of the function",
      topology: { visibilityMs: minutes(6) },
      parts: consumer("after-success"),
    },
  },
  {
    rule: "notifications-overlap",
    checker: neverDoubled,
    shows: "One event arrives as two messages. The consumer does not know that they are the same.",
    topology: { ...SMALL, events: 1 },
    rates: {},
    broken: { setting: "two notifications for one prefix", parts: sender({ copies: 2 }) },
    fixed: { setting: "one notification for each prefix", parts: sender({}) },
  },
  {
    rule: "key-from-attribute",
    checker: neverLost,
    shows:
      "Through SNS the attribute is not there, so every message has the same key: undefined. The " +
      "second message looks like a duplicate and is acknowledged without being handled.",
    topology: SMALL,
    rates: {},
    broken: { setting: "a key that is always undefined", parts: consumer("first-only") },
    fixed: { setting: "a key from the body", parts: consumer("after-success") },
  },
  dropped(
    "aws-managed-key",
    "a queue with the key alias/aws/sqs",
    `${REFUSED} The policy of an AWS managed key allows no service.`,
    "a customer managed key that allows the service",
  ),
  dropped(
    "key-refuses-sender",
    "a key whose policy does not name the service",
    REFUSED,
    "a key whose policy allows the service",
  ),
  dropped(
    "sender-not-allowed",
    "a queue policy that does not name the topic or bucket",
    REFUSED,
    "a queue policy that allows it",
  ),
  dropped(
    "standard-topic-to-fifo-queue",
    "a FIFO queue on a standard topic",
    `SNS refuses the subscription. ${SILENT}`,
    "a FIFO queue on a FIFO topic",
  ),
  dropped(
    "bucket-to-fifo",
    "a bucket that notifies a FIFO queue",
    `S3 refuses the notification. ${SILENT}`,
    "a bucket that notifies a standard queue",
  ),
  dropped(
    "fifo-topic-filtered",
    "a filter policy that rejects the message",
    "The topic accepts the message, and its filter rejects it. SNS keeps no copy, and drops a " +
      "later send of its id as a duplicate.",
    "no filter policy on the FIFO topic",
  ),
  dropped(
    "notification-overwritten",
    "a second notification configuration of the bucket",
    `It replaces the first one. ${SILENT}`,
    "one configuration with all notifications",
  ),
];

/** Rules about loss and double effects that no world shows, and why. */
export const WITHOUT_WORLD: Readonly<Record<string, string>> = {
  "dedup-per-group": "The simulated queue deduplicates per queue only.",
  "subscription-without-dead-letters": "The simulated producers send to a queue, not to a topic.",
  "bucket-unversioned": "The harm is a replay that cannot read an overwritten object.",
  "ledger-retention-short": "It takes weeks between a dead letter and its redrive.",
  "queue-url-in-code": "The harm happens in another environment than the one that runs.",
  "pipe-fire-and-forget": "The run of pipe-to-ecs shows it, with a task instead of a target.",
  "failure-swallowed": "The run of delete-on-failure shows it; here, somebody else deletes.",
  "batch-fails-whole": "The run of function-fails-whole-batch shows it.",
  "producer-untested": "A missing test does no harm by itself.",
};
