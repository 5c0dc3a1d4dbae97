// Consumer code rules: mistakes in programs that receive messages themselves. The code reader
// recognises them (code/); a rule reports the patterns of its own name.

import type { Rule } from "../rule.ts";

/** The findings of the pattern `name`; `rest` follows what the code does there. */
export function fromCode(name: string, rest: string): Rule["check"] {
  return ({ code }) =>
    code
      .filter(({ pattern }) => pattern === name)
      .map(({ location, detail }) => ({ location, message: `${detail}, ${rest}` }));
}

export const CONSUMER_CODE_RULES: readonly Rule[] = [
  {
    id: "TGD070",
    name: "delete-before-processing",
    title: "Message deleted before it is processed",
    severity: "error",
    risk: "loss",
    consequence: "A crash between the two loses the message.",
    fix: "Delete the message after its effects are durable.",
    check: fromCode(
      "delete-before-processing",
      "so a crash in between loses it; delete it after its effects are durable",
    ),
  },
  {
    id: "TGD071",
    name: "delete-on-failure",
    title: "Message deleted although processing failed",
    severity: "error",
    risk: "loss",
    consequence: "A transient failure loses the message: nothing retries it.",
    fix: "Delete only after success, and let failed messages become visible again.",
    check: fromCode(
      "delete-on-failure",
      "so a failed message is lost instead of retried; delete it only after success",
    ),
  },
  {
    id: "TGD072",
    name: "no-idempotency",
    title: "Consumer without idempotency",
    severity: "error",
    risk: "double effect",
    consequence:
      "SQS delivers at least once, on FIFO queues too. A second delivery applies the effects again.",
    fix: "Claim each message by its key in one conditional write, or run it as a Tidegate pipeline.",
    check: fromCode(
      "no-idempotency",
      "so a message that is delivered twice takes effect twice; claim each key in one conditional write",
    ),
  },
  {
    id: "TGD073",
    name: "batch-failures-ignored",
    title: "Batch call whose failed entries are ignored",
    severity: "error",
    risk: "loss",
    consequence:
      "The call succeeds as a whole, and its failed entries are lost or delivered again.",
    fix: "Read Failed of the response, and retry those entries.",
    check: fromCode(
      "batch-failures-ignored",
      "so entries that fail alone go unnoticed; retry the entries in Failed",
    ),
  },
  {
    id: "TGD074",
    name: "batch-truncated",
    title: "Batch that drops everything after the tenth entry",
    severity: "error",
    risk: "loss",
    consequence: "Entries after the tenth are never sent, or never deleted.",
    fix: "Split the list into batches of ten.",
    check: fromCode(
      "batch-truncated",
      "so all entries after the tenth are dropped; split the list into batches of ten",
    ),
  },
  {
    id: "TGD075",
    name: "fifo-in-parallel",
    title: "Messages of a FIFO queue processed in parallel",
    severity: "error",
    risk: "order",
    consequence: "One receive returns several messages of a group, which then overtake each other.",
    fix: "Process the messages of a group one after another, and stop at its first failure.",
    check: fromCode(
      "fifo-in-parallel",
      "so messages of one group overtake each other; process each group in order",
    ),
  },
  {
    id: "TGD076",
    name: "key-from-attribute",
    title: "Idempotency key read from a message attribute",
    severity: "error",
    risk: "loss",
    consequence:
      "SNS puts attributes into its envelope, so the key is undefined there: all later messages look like duplicates.",
    fix: "Read the key from the body, and treat a missing key as an error.",
    check: fromCode(
      "key-from-attribute",
      "which is missing behind SNS, so all messages share one key; read the key from the body",
    ),
  },
  {
    id: "TGD077",
    name: "short-polling-in-code",
    title: "Receive without long polling",
    severity: "warning",
    risk: "cost",
    consequence: "Empty receives cost money, and short polls miss messages that are there.",
    fix: "Set WaitTimeSeconds to 20.",
    check: fromCode(
      "short-polling-in-code",
      "so empty receives cost money and messages are missed; set WaitTimeSeconds to 20",
    ),
  },
  {
    id: "TGD078",
    name: "one-message-per-receive",
    title: "Receive of one message at a time",
    severity: "warning",
    risk: "cost",
    consequence: "Ten times as many requests.",
    fix: "Set MaxNumberOfMessages to 10.",
    check: fromCode(
      "one-message-per-receive",
      "which takes ten times as many requests; set MaxNumberOfMessages to 10",
    ),
  },
  {
    id: "TGD079",
    name: "messages-one-by-one",
    title: "Messages processed one by one",
    severity: "note",
    risk: "delay",
    consequence: "A slow message delays the nine behind it, which stay hidden meanwhile.",
    fix: "Process messages of different groups concurrently.",
    check: fromCode(
      "messages-one-by-one",
      "so a slow message delays the others; process them concurrently",
    ),
  },
  {
    id: "TGD080",
    name: "sdk-retries-off",
    title: "AWS client without retries",
    severity: "warning",
    risk: "delay",
    consequence: "A throttled or lost request fails at once.",
    fix: "Leave maxAttempts at the default of the SDK.",
    check: fromCode(
      "sdk-retries-off",
      "so a throttled request fails at once; leave maxAttempts at its default",
    ),
  },
  {
    id: "TGD081",
    name: "failure-swallowed",
    title: "Handler that turns a failure into success",
    severity: "error",
    risk: "loss",
    consequence:
      "Lambda, or the library that calls the handler, deletes the message: nothing retries it, and no dead letter remains.",
    fix: "Throw the error after logging it, or return the message in batchItemFailures.",
    check: fromCode(
      "failure-swallowed",
      "so a failed message is deleted; throw the error, or report the message as failed",
    ),
  },
  {
    id: "TGD082",
    name: "batch-fails-whole",
    title: "Function whose batch fails as a whole",
    severity: "warning",
    risk: "double effect",
    consequence: "One poison message makes Lambda process the good messages of its batch again.",
    fix: "Return batchItemFailures, and set ReportBatchItemFailures on the event source mapping.",
    check: (setup) =>
      setup.functions || setup.mappings.length > 0 // TGD039 knows more.
        ? []
        : fromCode(
            "batch-fails-whole",
            "so the others are processed again; return batchItemFailures",
          )(setup),
  },
];
