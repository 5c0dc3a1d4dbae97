// Test message: what a test sends to the queue of a pipeline.

import type { JsonObject, JsonValue } from "../core/encoding/canonical-json.ts";
import { sha256Hex } from "../core/encoding/hash.ts";
import { TidegateError } from "../core/errors.ts";
import { buildEnvelope } from "../core/events/envelope.ts";
import { describeProblems } from "../core/events/problem.ts";
import type { EpochMs } from "../core/units.ts";
import type { QueueSender } from "../ports/queue.ts";

/** An event of a producer, or a message in your own format. */
export type TestMessage =
  | {
      readonly payload: JsonObject;
      /** Default: made of the payload, so that equal payloads are duplicates. */
      readonly dedupeKey?: string;
      /** Default: "test.pipeline.events". */
      readonly source?: string;
      /** RFC 3339. Default: now. */
      readonly eventTime?: string;
      /** FIFO queues only. Default: "test". */
      readonly group?: string;
    }
  | {
      /** Text is sent as it is, bytes as base64, any other value as JSON. */
      readonly body: JsonValue | Uint8Array;
      readonly attributes?: Readonly<Record<string, string>>;
      /** FIFO queues only. Default: "test". */
      readonly group?: string;
      /** FIFO queues only: MessageDeduplicationId. Default: a hash of the body. */
      readonly dedupId?: string;
    };

const SOURCE = "test.pipeline.events";
const GROUP = "test";

export async function sendTestMessage(
  queue: QueueSender,
  message: TestMessage,
  now: EpochMs,
): Promise<void> {
  const content = "body" in message ? own(message) : enveloped(message, now);
  const { body, attributes, dedupId } = content;
  const groupId = queue.fifo ? (message.group ?? GROUP) : null;
  const sent = { body, attributes, groupId, dedupId: queue.fifo ? dedupId : null };
  const [outcome] = await queue.sendBatch([sent]);
  if (outcome?.kind === "sent") return;
  const reason = outcome === undefined ? "no answer" : `${outcome.code}: ${outcome.message}`;
  throw new TidegateError("TG_MESSAGE_REFUSED", `${queue.name} refused the message: ${reason}`);
}

function own(message: Extract<TestMessage, { body: unknown }>) {
  const { attributes = {} } = message;
  const body = textOf(message.body);
  return { body, attributes, dedupId: message.dedupId ?? sha256Hex(body) };
}

function textOf(body: JsonValue | Uint8Array): string {
  if (typeof body === "string") return body;
  return body instanceof Uint8Array ? Buffer.from(body).toString("base64") : JSON.stringify(body);
}

function enveloped(message: Extract<TestMessage, { payload: JsonObject }>, now: EpochMs) {
  const { payload, source = SOURCE, eventTime = now } = message;
  const { dedupeKey = sha256Hex(JSON.stringify(payload)) } = message;
  const built = buildEnvelope({ source, dedupeKey, eventTime, payload });
  if (built.kind === "valid") return { ...built.value, attributes: {} };
  const problems = describeProblems(built.problems);
  throw new TidegateError("TG_VALUE_INVALID", `the event breaks the contract: ${problems}`);
}
