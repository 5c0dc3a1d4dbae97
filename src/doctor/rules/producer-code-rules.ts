// Producer code rules: mistakes in programs that send messages, and in how code names queues.

import type { Rule } from "../rule.ts";
import { fromCode } from "./consumer-code-rules.ts";

export const PRODUCER_CODE_RULES: readonly Rule[] = [
  {
    id: "TGD085",
    name: "write-then-send",
    title: "Row written first, message sent afterwards",
    severity: "error",
    risk: "loss",
    consequence:
      "After a crash in between, every retry finds the row and skips the send: the message is never sent.",
    fix: "Use an outbox with a relay, and mark the row as sent after the send.",
    check: fromCode(
      "write-then-send",
      "so a crash in between means that the message is never sent; use an outbox",
    ),
  },
  {
    id: "TGD086",
    name: "dedup-id-volatile",
    title: "Deduplication id that changes with every send",
    severity: "error",
    risk: "double effect",
    consequence: "A retried send has another id, so SQS delivers both.",
    fix: "Derive the id from the event: a hash of its source and key.",
    check: fromCode(
      "dedup-id-volatile",
      "so a retried send is delivered twice; derive the id from the event",
    ),
  },
  {
    id: "TGD087",
    name: "body-volatile",
    title: "Content-based deduplication of a body that changes with every send",
    severity: "error",
    risk: "double effect",
    consequence: "SQS hashes the whole body, so a retried send is a new message.",
    fix: "Set MessageDeduplicationId, derived from the event.",
    check: fromCode(
      "body-volatile",
      "so a retried send is delivered twice; set MessageDeduplicationId from the event",
    ),
  },
  {
    id: "TGD088",
    name: "one-message-group",
    title: "One message group for all messages",
    severity: "warning",
    risk: "delay",
    consequence: "Everything is processed one by one, and one poison message blocks all others.",
    fix: "Use the id of the entity whose order matters as the group.",
    check: fromCode(
      "one-message-group",
      "so one poison message blocks all others; use the id of the entity as the group",
    ),
  },
  {
    id: "TGD089",
    name: "single-sends",
    title: "Messages sent one by one in a loop",
    severity: "note",
    risk: "cost",
    consequence: "Ten times as many requests.",
    fix: "Send batches of ten, and retry the failed entries.",
    check: fromCode("single-sends", "which takes ten times as many requests; send batches of ten"),
  },
  {
    id: "TGD090",
    name: "sensitive-in-message",
    title: "Sensitive field in a message",
    severity: "warning",
    risk: "exposure",
    consequence: "Everybody who may receive from the queue, or its dead-letter queue, reads it.",
    fix: "Encrypt the field, or send a reference to it.",
    check: fromCode(
      "sensitive-in-message",
      "so every reader of the queue sees it; encrypt the field or send a reference",
    ),
  },
  {
    id: "TGD091",
    name: "queue-url-in-code",
    title: "Queue URL in the code",
    severity: "warning",
    risk: "loss",
    consequence: "A test or another environment sends to, or deletes from, the production queue.",
    fix: "Read the URL from the configuration.",
    check: fromCode(
      "queue-url-in-code",
      "so other environments use this queue; read the URL from the configuration",
    ),
  },
  {
    id: "TGD092",
    name: "endpoint-without-tls",
    title: "Endpoint without TLS",
    severity: "error",
    risk: "exposure",
    consequence: "Messages and signatures travel in plain text.",
    fix: "Use https, or an endpoint on this machine.",
    check: fromCode(
      "endpoint-without-tls",
      "so messages travel in plain text; use https, or an endpoint on this machine",
    ),
  },
  {
    id: "TGD093",
    name: "attributes-undocumented",
    title: "Message attribute that no document explains",
    severity: "note",
    risk: "blindness",
    consequence: "Consumers guess its meaning, and a change breaks them.",
    fix: "Describe the attribute in a Markdown file of the project.",
    check: fromCode(
      "attributes-undocumented",
      "so consumers guess its meaning; describe it in a Markdown file",
    ),
  },
  {
    id: "TGD094",
    name: "producer-untested",
    title: "Producer without a compliance test",
    severity: "error",
    risk: "double effect",
    consequence:
      "No one notices when a change makes its messages duplicates of each other, or new.",
    fix: "Call complianceTests of tidegate/testkit, or run tidegate comply on it in CI.",
    check: fromCode(
      "producer-untested",
      "so no one notices a change that breaks deduplication; add complianceTests, or tidegate comply",
    ),
  },
];
