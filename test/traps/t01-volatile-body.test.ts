// T1: a new event id, a trace id or a timestamp inside the body makes every replay another message
// to content-based deduplication, which hashes the whole body.

import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../src/core/encoding/hash.ts";
import { buildEnvelope, type EnvelopeInput } from "../../src/core/events/envelope.ts";

const INPUT: EnvelopeInput = {
  source: "kfm.remote-sensing.landsat-refresh",
  dedupeKey: "landsat/p32r29/2025-12-04T00:00Z",
  eventTime: "2025-12-04T00:00:00Z",
  payload: { tile: "p32r29", bands: { red: 4, green: 3 } },
};

function built(input: EnvelopeInput): { body: string; dedupId: string; contentHash: string } {
  const result = buildEnvelope(input);
  if (result.kind === "invalid") throw new Error("was refused");
  const { body, dedupId } = result.value;
  return { body, dedupId, contentHash: sha256Hex(body) };
}

describe("T1: volatile data in the body", () => {
  test("a replay has the same body, so even content-based deduplication catches it", () => {
    expect(built({ ...INPUT })).toEqual(built(INPUT));
  });

  test("the order of members does not make another message", () => {
    const payload = { bands: { green: 3, red: 4 }, tile: "p32r29" };
    expect(built({ ...INPUT, payload })).toEqual(built(INPUT));
  });

  test("another dedupe key makes another body, another hash and another id", () => {
    const other = built({ ...INPUT, dedupeKey: "landsat/p32r30/2025-12-04T00:00Z" });
    const first = built(INPUT);
    expect(other.body).not.toBe(first.body);
    expect(other.contentHash).not.toBe(first.contentHash);
    expect(other.dedupId).not.toBe(first.dedupId);
  });

  test("the dual: the explicit id is the same though event time and payload differ", () => {
    const later = built({ ...INPUT, eventTime: "2025-12-04T00:00:01Z", payload: { retry: 2 } });
    expect(later.body).not.toBe(built(INPUT).body);
    expect(later.dedupId).toBe(built(INPUT).dedupId);
  });

  test("the builder omits everything that is not part of the contract, such as volatile data", () => {
    const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: null };
    const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    const volatile = { ...INPUT, trace, trace_id, attempt: 3 };
    expect(built(volatile)).toEqual(built(INPUT));
  });
});
