// Compliance checks: what every producer must do, one check each. hash-behavior,
// attribute-ignorance and the two replay checks are the tests of the contract; the others catch
// what those let pass.

import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { type MessageEnvelope, validateEnvelope } from "../../core/events/envelope.ts";
import { describeProblems } from "../../core/events/problem.ts";
import { SQS_DEDUP_WINDOW_MS, SQS_GROUP_ID_CHARACTERS_MAX } from "../../core/limits.ts";
import type { ComplianceEvent, ComplianceStep, ReceivedEvent } from "./compliance-world.ts";

/** What a check uses: unique events, and the messages that arrive when they are produced. */
export interface CheckWorld {
  /** An event of this check only; equal names give equal events except for volatile fields. */
  event(name: string, more?: Partial<ComplianceEvent>): ComplianceEvent;
  produce(steps: readonly ComplianceStep[]): Promise<ReceivedEvent[]>;
}

export interface ComplianceCheck {
  readonly name: string;
  readonly title: string;
  /** How to fix a failure. */
  readonly fix: string;
  /** Returns the problem, or null. */
  run(world: CheckWorld): Promise<string | null>;
}

const MINUTE_MS = 60_000;

const SEND_CANONICAL =
  "Send canonical JSON with nothing volatile in it (buildEnvelope does), or an explicit " +
  "MessageDeduplicationId made of source and dedupe_key (messageDedupId).";

function countProblem(
  messages: readonly ReceivedEvent[],
  expected: number,
  of: string,
): string | null {
  if (messages.length === expected) return null;
  const count = messages.length === 1 ? "1 message" : `${messages.length} messages`;
  return `${count} arrived for ${of}; expected ${expected}`;
}

function envelopeIn({ body }: ReceivedEvent): MessageEnvelope | string {
  const parsed = parseStrictJson(body);
  if (parsed.kind === "invalid") return `the body is not JSON: ${parsed.reason}`;
  const checked = validateEnvelope(parsed.value);
  return checked.kind === "valid" ? checked.value : describeProblems(checked.problems);
}

const envelope: ComplianceCheck = {
  name: "envelope",
  title: "the body is the contract's envelope, with the event's source, key and payload",
  fix: "Put event_id, event_source, event_time, dedupe_key and payload into the body unchanged.",
  async run(world) {
    const event = world.event("a");
    const messages = await world.produce([{ event }]);
    const [first] = messages;
    if (first === undefined) return "no message arrived";
    const content = envelopeIn(first);
    if (typeof content === "string") return content;
    if (content.dedupe_key !== event.dedupeKey) {
      return `dedupe_key is ${JSON.stringify(content.dedupe_key)}, not that of the event`;
    }
    if (content.event_source !== event.source) return "event_source is not that of the event";
    const same = canonicalJson(content.payload) === canonicalJson(event.payload);
    return same ? null : "payload is not that of the event";
  },
};

const hashBehavior: ComplianceCheck = {
  name: "hash-behavior",
  title: "a different dedupe_key gives a different body, and so a different hash",
  fix: "Put the key into the body: content-based deduplication hashes only the body.",
  async run(world) {
    const payload = world.event("a").payload;
    const steps = ["a", "b"].map((name) => ({ event: world.event(name, { payload }) }));
    const messages = await world.produce(steps);
    const problem = countProblem(messages, 2, "two keys with one payload");
    if (problem !== null) return problem;
    return messages[0]?.body === messages[1]?.body ? "the two bodies are the same" : null;
  },
};

const attributeIgnorance: ComplianceCheck = {
  name: "attribute-ignorance",
  title: "a change in attributes alone is a duplicate, and the body alone identifies the event",
  fix: "Put trace context into attributes and the identity into the body.",
  async run(world) {
    const traces = ["00-aaaa-01-01", "00-bbbb-02-01"];
    const steps = traces.map((traceparent) => ({ event: world.event("a", { traceparent }) }));
    const messages = await world.produce(steps);
    const problem = countProblem(messages, 1, "one event under two traces");
    if (problem !== null) return problem;
    const [first] = messages;
    if (first === undefined) return "no message arrived";
    if (traces.some((trace) => first.body.includes(trace))) return "the trace is in the body";
    const content = envelopeIn(first);
    if (typeof content !== "string") return null;
    return `the body alone does not identify the event: ${content}`;
  },
};

const replaySame: ComplianceCheck = {
  name: "replay-same-key",
  title: "a replay within five minutes is a duplicate",
  fix: SEND_CANONICAL,
  async run(world) {
    const replay = (afterMs: number) => ({ event: world.event("a"), afterMs });
    const late = SQS_DEDUP_WINDOW_MS - 2 * MINUTE_MS - 1_000;
    const steps = [replay(0), replay(MINUTE_MS), replay(MINUTE_MS), replay(late)];
    return countProblem(await world.produce(steps), 1, "one event sent four times");
  },
};

const replayOther: ComplianceCheck = {
  name: "replay-other-key",
  title: "events with different keys are all delivered",
  fix: "Derive the MessageDeduplicationId from the whole dedupe_key, or send none.",
  async run(world) {
    const steps = ["a", "b", "c"].map((name) => ({ event: world.event(name) }));
    return countProblem(await world.produce(steps), 3, "three events");
  },
};

const anotherEventId: ComplianceCheck = {
  name: "another-event-id",
  title: "the same dedupe_key with another event_id is a duplicate",
  fix: SEND_CANONICAL,
  async run(world) {
    const ids = ["018f2c1e-3f5a-7d0c-9a70-6f8d2f6f0001", "018f2c1e-3f5a-7d0c-9a70-6f8d2f6f0002"];
    const steps = ids.map((eventId) => ({ event: world.event("a", { eventId }) }));
    return countProblem(await world.produce(steps), 1, "one key under two event ids");
  },
};

const keyOrder: ComplianceCheck = {
  name: "key-order",
  title: "the same payload with its members in another order is a duplicate",
  fix: SEND_CANONICAL,
  async run(world) {
    const { payload } = world.event("a");
    const reversed = Object.fromEntries(Object.entries(payload).reverse());
    const steps = [{ event: world.event("a") }, { event: world.event("a", { payload: reversed }) }];
    return countProblem(await world.produce(steps), 1, "one event in two orders");
  },
};

const namespaced: ComplianceCheck = {
  name: "namespaced",
  title: "the same dedupe_key from two sources is two messages",
  fix: "Derive the MessageDeduplicationId from source and key: messageDedupId(source, key).",
  async run(world) {
    const first = world.event("a");
    const source = `${first.source}-2`;
    const steps = [{ event: first }, { event: world.event("a", { source }) }];
    return countProblem(await world.produce(steps), 2, "one key of two sources");
  },
};

const beyondWindow: ComplianceCheck = {
  name: "beyond-window",
  title: "a replay after the window has the same source, key and group",
  fix: "Derive source, key and group from the event alone, not from a clock, counter or randomness.",
  async run(world) {
    const steps = [
      { event: world.event("a") },
      { event: world.event("a"), afterMs: SQS_DEDUP_WINDOW_MS + 1 },
      { event: world.event("a"), afterMs: 24 * 60 * MINUTE_MS },
    ];
    const messages = await world.produce(steps);
    if (messages.length === 0) return "no message arrived";
    const identities = messages.map((message) => {
      const content = envelopeIn(message);
      if (typeof content === "string") return content;
      return JSON.stringify([content.event_source, content.dedupe_key, message.groupId]);
    });
    const other = identities.find((identity) => identity !== identities[0]);
    return other === undefined ? null : `${identities[0]} became ${other}`;
  },
};

const group: ComplianceCheck = {
  name: "group",
  title: "every message has a message group",
  fix: "Set MessageGroupId: per entity, per tenant, or one of a fixed number of groups.",
  async run(world) {
    const [first] = await world.produce([{ event: world.event("a") }]);
    if (first === undefined) return "no message arrived";
    if (first.groupId === null) return "the message has no MessageGroupId";
    const fits = first.groupId.length <= SQS_GROUP_ID_CHARACTERS_MAX;
    return fits ? null : "the MessageGroupId is longer than SQS accepts";
  },
};

/** Every check, in the order of the report. */
export const COMPLIANCE_CHECKS: readonly ComplianceCheck[] = [
  ...[hashBehavior, attributeIgnorance, replaySame, replayOther],
  ...[envelope, anotherEventId, keyOrder, namespaced, beyondWindow, group],
];
