// Test message: what a test sends to the queue of a pipeline.

import type { JsonObject } from "../core/encoding/canonical-json.ts";
import { sha256Hex } from "../core/encoding/hash.ts";
import { TidegateError } from "../core/errors.ts";
import { buildEnvelope } from "../core/events/envelope.ts";
import { describeProblems } from "../core/events/problem.ts";
import type { EpochMs } from "../core/units.ts";
import type { QueueSender } from "../ports/queue.ts";

/** An event of a producer, or a message body as it is. */
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
  | { readonly body: string; readonly group?: string };

const SOURCE = "test.pipeline.events";
const GROUP = "test";

export async function sendTestMessage(
  queue: QueueSender,
  message: TestMessage,
  now: EpochMs,
): Promise<void> {
  const { body, dedupId } = "body" in message ? plain(message.body) : enveloped(message, now);
  const groupId = queue.fifo ? (message.group ?? GROUP) : null;
  const sent = { body, attributes: {}, groupId, dedupId: queue.fifo ? dedupId : null };
  const [outcome] = await queue.sendBatch([sent]);
  if (outcome?.kind === "sent") return;
  const reason = outcome === undefined ? "no answer" : `${outcome.code}: ${outcome.message}`;
  throw new TidegateError("TG_MESSAGE_REFUSED", `${queue.name} refused the message: ${reason}`);
}

function plain(body: string): { body: string; dedupId: string } {
  return { body, dedupId: sha256Hex(body) };
}

function enveloped(message: Extract<TestMessage, { payload: JsonObject }>, now: EpochMs) {
  const { payload, source = SOURCE, eventTime = now } = message;
  const { dedupeKey = sha256Hex(JSON.stringify(payload)) } = message;
  const built = buildEnvelope({ source, dedupeKey, eventTime, payload });
  if (built.kind === "valid") return built.value;
  const problems = describeProblems(built.problems);
  throw new TidegateError("TG_VALUE_INVALID", `the event breaks the contract: ${problems}`);
}
