// Compliance checks: what every producer must do, one check each. The first three are the tests of
// the contract; the others are their duals, which catch what the three alone let pass.

import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { type MessageEnvelope, validateEnvelope } from "../../core/events/envelope.ts";
import { describeProblems } from "../../core/events/problem.ts";
import { SQS_DEDUP_WINDOW_MS, SQS_GROUP_ID_CHARACTERS_MAX } from "../../core/limits.ts";
import type { ComplianceEvent, ComplianceStep, ReceivedEvent } from "./compliance-world.ts";

/** Hands a check what it needs: events of its own, and what arrives when they are produced. */
export interface CheckWorld {
  /** An event nobody else uses; equal names give equal events but for what is volatile. */
  event(name: string, more?: Partial<ComplianceEvent>): ComplianceEvent;
  produce(steps: readonly ComplianceStep[]): Promise<ReceivedEvent[]>;
}

export interface ComplianceCheck {
  readonly name: string;
  readonly title: string;
  /** What to do about a failure. */
  readonly fix: string;
  /** What is wrong, or null. */
  run(world: CheckWorld): Promise<string | null>;
}

const MINUTE_MS = 60_000;

const SEND_CANONICAL =
  "Send canonical JSON with nothing volatile in it (buildEnvelope does), or an explicit " +
  "MessageDeduplicationId made of source and dedupe_key (messageDedupId).";

function countProblem(
  arrivals: readonly ReceivedEvent[],
  wanted: number,
  of: string,
): string | null {
  if (arrivals.length === wanted) return null;
  const count = arrivals.length === 1 ? "1 message" : `${arrivals.length} messages`;
  return `${count} arrived for ${of}, not ${wanted}`;
}

function envelopeIn({ body }: ReceivedEvent): MessageEnvelope | string {
  const parsed = parseStrictJson(body);
  if (parsed.kind === "invalid") return `the body is no JSON: ${parsed.reason}`;
  const checked = validateEnvelope(parsed.value);
  return checked.kind === "valid" ? checked.value : describeProblems(checked.problems);
}

const envelope: ComplianceCheck = {
  name: "envelope",
  title: "the body is the contract's envelope, with the source, key and payload it was given",
  fix: "Put event_id, event_source, event_time, dedupe_key and payload into the body, as given.",
  async run(world) {
    const event = world.event("a");
    const arrivals = await world.produce([{ event }]);
    const [first] = arrivals;
    if (first === undefined) return "no message arrived";
    const found = envelopeIn(first);
    if (typeof found === "string") return found;
    if (found.dedupe_key !== event.dedupeKey) {
      return `dedupe_key is ${JSON.stringify(found.dedupe_key)}, not the event's own`;
    }
    if (found.event_source !== event.source) return "event_source is not the event's own";
    const same = canonicalJson(found.payload) === canonicalJson(event.payload);
    return same ? null : "payload is not the event's own";
  },
};

const hashBehavior: ComplianceCheck = {
  name: "hash-behavior",
  title: "another dedupe_key makes another body, and so another hash",
  fix: "The key must be in the body: content-based deduplication hashes nothing else.",
  async run(world) {
    const payload = world.event("a").payload;
    const steps = ["a", "b"].map((name) => ({ event: world.event(name, { payload }) }));
    const arrivals = await world.produce(steps);
    const problem = countProblem(arrivals, 2, "two keys with one payload");
    if (problem !== null) return problem;
    return arrivals[0]?.body === arrivals[1]?.body ? "the two bodies are the same" : null;
  },
};

const attributeIgnorance: ComplianceCheck = {
  name: "attribute-ignorance",
  title: "what changes in attributes only makes no other message, and the body alone is enough",
  fix: "Keep trace context in attributes and the identity in the body.",
  async run(world) {
    const traces = ["00-aaaa-01-01", "00-bbbb-02-01"];
    const steps = traces.map((traceparent) => ({ event: world.event("a", { traceparent }) }));
    const arrivals = await world.produce(steps);
    const problem = countProblem(arrivals, 1, "one event under two traces");
    if (problem !== null) return problem;
    const [first] = arrivals;
    if (first === undefined) return "no message arrived";
    if (traces.some((trace) => first.body.includes(trace))) return "the trace is in the body";
    const found = envelopeIn(first);
    return typeof found === "string" ? `the body alone does not tell the event: ${found}` : null;
  },
};

const replaySame: ComplianceCheck = {
  name: "replay-same-key",
  title: "a replay within five minutes is the same message",
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
  title: "events with other keys are delivered as new ones",
  fix: "Derive the MessageDeduplicationId from the whole dedupe_key, or send none.",
  async run(world) {
    const steps = ["a", "b", "c"].map((name) => ({ event: world.event(name) }));
    return countProblem(await world.produce(steps), 3, "three events");
  },
};

const anotherEventId: ComplianceCheck = {
  name: "another-event-id",
  title: "the same dedupe_key with another event_id is the same message",
  fix: SEND_CANONICAL,
  async run(world) {
    const ids = ["018f2c1e-3f5a-7d0c-9a70-6f8d2f6f0001", "018f2c1e-3f5a-7d0c-9a70-6f8d2f6f0002"];
    const steps = ids.map((eventId) => ({ event: world.event("a", { eventId }) }));
    return countProblem(await world.produce(steps), 1, "one key under two event ids");
  },
};

const keyOrder: ComplianceCheck = {
  name: "key-order",
  title: "the order of a payload's members makes no other message",
  fix: SEND_CANONICAL,
  async run(world) {
    const { payload } = world.event("a");
    const turned = Object.fromEntries(Object.entries(payload).reverse());
    const steps = [{ event: world.event("a") }, { event: world.event("a", { payload: turned }) }];
    return countProblem(await world.produce(steps), 1, "one event in two orders");
  },
};

const namespaced: ComplianceCheck = {
  name: "namespaced",
  title: "one dedupe_key from two sources is two messages",
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
  title: "a replay after the window still tells the same source, key and group",
  fix: "Take source, key and group from the event alone: no clock, no counter, no chance.",
  async run(world) {
    const steps = [
      { event: world.event("a") },
      { event: world.event("a"), afterMs: SQS_DEDUP_WINDOW_MS + 1 },
      { event: world.event("a"), afterMs: 24 * 60 * MINUTE_MS },
    ];
    const arrivals = await world.produce(steps);
    if (arrivals.length === 0) return "no message arrived";
    const identities = arrivals.map((arrival) => {
      const found = envelopeIn(arrival);
      if (typeof found === "string") return found;
      return JSON.stringify([found.event_source, found.dedupe_key, arrival.groupId]);
    });
    const other = identities.find((identity) => identity !== identities[0]);
    return other === undefined ? null : `${identities[0]} became ${other}`;
  },
};

const group: ComplianceCheck = {
  name: "group",
  title: "every message names its group",
  fix: "Set MessageGroupId: per entity, per tenant, or one of a fixed number of groups.",
  async run(world) {
    const [first] = await world.produce([{ event: world.event("a") }]);
    if (first === undefined) return "no message arrived";
    if (first.groupId === null) return "it names none";
    const fits = first.groupId.length <= SQS_GROUP_ID_CHARACTERS_MAX;
    return fits ? null : "its name is longer than SQS takes";
  },
};

/** Every check, in the order of the report. */
export const COMPLIANCE_CHECKS: readonly ComplianceCheck[] = [
  ...[hashBehavior, attributeIgnorance, replaySame, replayOther],
  ...[envelope, anotherEventId, keyOrder, namespaced, beyondWindow, group],
];
