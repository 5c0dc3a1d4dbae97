// Any input: a plain record input for tests that are not about inputs.

import { epochMs } from "../../../src/core/units.ts";
import type { RecordInput } from "../../../src/ports/record.ts";

export const ANY_INPUT: RecordInput = {
  kind: "message",
  eventId: "event-1",
  object: null,
  source: "test",
  dedupeKey: "key-1",
  eventTime: epochMs(1_700_000_000_000),
  sentAt: epochMs(1_700_000_000_000),
  messageId: "message-1",
  traceId: null,
  runId: "run-1",
  partition: "",
  lane: { lane: "live", watermark: null },
};

export function anyInput(changes: Partial<RecordInput> = {}): RecordInput {
  return { ...ANY_INPUT, ...changes };
}
