// T11: an idempotency key from a message attribute is lost when SNS wraps the message, and a
// missing one becomes `undefined`, which all messages without a key then share.

import { describe, expect, test } from "vitest";
import { decodeBody } from "../../src/core/events/decode/decode.ts";
import { envelopeKey } from "../../src/core/events/envelope.ts";
import { recordKey } from "../../src/ledger/record-key.ts";
import { snsWrapped } from "../support/traps/message.ts";

const ENVELOPE = {
  event_id: "01a1de38-6400-84ec-b232-0a1589552427",
  event_source: "kfm.soil.refresh",
  event_time: "2026-11-15T08:00:00.000Z",
  dedupe_key: "soil/1",
  payload: {},
};

function keyOf(body: string): string {
  const decoded = decodeBody(body);
  if (decoded.kind !== "envelope") throw new Error(decoded.kind);
  return envelopeKey(decoded.envelope.event_source, decoded.envelope.dedupe_key);
}

describe("T11: the key comes from the body", () => {
  test("raw and wrapped deliveries of one message have one key", () => {
    const raw = JSON.stringify(ENVELOPE);
    expect(keyOf(snsWrapped(raw))).toBe(keyOf(raw));
  });

  test("an attribute that claims another key changes nothing", () => {
    const raw = JSON.stringify(ENVELOPE);
    const attributes = { dedupe_key: { Type: "String", Value: "soil/2" } };
    expect(keyOf(snsWrapped(raw, attributes))).toBe(keyOf(raw));
  });

  test.each([
    ["missing", undefined],
    ["null", null],
    ["empty", ""],
    ["blank", "  "],
    ["a number", 7],
  ])("a key that is %s is undecodable and never a key that others share", (_, dedupe_key) => {
    const decoded = decodeBody(JSON.stringify({ ...ENVELOPE, dedupe_key }));
    expect(decoded).toMatchObject({
      kind: "undecodable",
      problems: [{ path: "/dedupe_key" }],
    });
  });

  test("a record key cannot be derived from nothing", () => {
    expect(() => recordKey({ pipeline: "soil", generation: 0 }, "")).toThrow("needs");
  });
});
