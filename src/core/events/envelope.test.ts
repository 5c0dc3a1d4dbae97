import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, type JsonObject, type JsonValue } from "../encoding/canonical-json.ts";
import { parseStrictJson } from "../encoding/strict-json.ts";
import { SQS_DEDUP_ID_CHARACTERS_MAX } from "../limits.ts";
import { epochMs } from "../units.ts";
import {
  type BuiltEnvelope,
  buildEnvelope,
  type EnvelopeInput,
  envelopeEventId,
  envelopeKey,
  messageDedupId,
  payloadDigest,
  validateEnvelope,
} from "./envelope.ts";
import { describeProblems } from "./problem.ts";

const INPUT: EnvelopeInput = {
  source: "kfm.remote-sensing.landsat-refresh",
  dedupeKey: "landsat/p32r29/2025-12-04T00:00Z",
  eventTime: "2026-11-15T08:00:00Z",
  payload: { tile: "p32r29", bands: [1, 2] },
};

function built(input: EnvelopeInput): BuiltEnvelope {
  const result = buildEnvelope(input);
  if (result.kind === "invalid") throw new Error(describeProblems(result.problems));
  return result.value;
}

function refusal(input: unknown): string {
  const result = buildEnvelope(input as EnvelopeInput);
  if (result.kind === "valid") throw new Error("was accepted");
  return describeProblems(result.problems);
}

const anyPayload = (): fc.Arbitrary<JsonObject> =>
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }) as fc.Arbitrary<JsonObject>;

describe("building", () => {
  test("gives this exact body in every release (V2)", () => {
    expect(built(INPUT)).toEqual({
      envelope: {
        schema_version: 1,
        event_id: "01a1de38-6400-8c0e-8fb2-2675c8d7eee9",
        event_source: "kfm.remote-sensing.landsat-refresh",
        event_time: "2026-11-15T08:00:00.000Z",
        dedupe_key: "landsat/p32r29/2025-12-04T00:00Z",
        payload: { tile: "p32r29", bands: [1, 2] },
      },
      body:
        '{"dedupe_key":"landsat/p32r29/2025-12-04T00:00Z",' +
        '"event_id":"01a1de38-6400-8c0e-8fb2-2675c8d7eee9",' +
        '"event_source":"kfm.remote-sensing.landsat-refresh",' +
        '"event_time":"2026-11-15T08:00:00.000Z",' +
        '"payload":{"bands":[1,2],"tile":"p32r29"},"schema_version":1}',
      dedupId: "5f1230669bd8df13af141d4a22c6637e3e0cb677b5d2ceb51d2ef84b46299687",
    });
  });

  test("gives the same bytes for every spelling of one event (V2)", () => {
    const { body } = built(INPUT);
    const spellings: EnvelopeInput[] = [
      { ...INPUT, payload: { bands: [1, 2], tile: "p32r29" } },
      { ...INPUT, eventTime: "2026-11-15T09:30:00.000+01:30" },
      { ...INPUT, eventTime: "2026-11-15t08:00:00.0000001z" },
      { ...INPUT, eventTime: epochMs(1_794_729_600_000) },
    ];
    for (const spelling of spellings) expect(built(spelling).body).toBe(body);
  });

  test("gives a body that reads back as a valid envelope with the same identity", () => {
    fc.assert(
      fc.property(anyPayload(), (payload) => {
        const { body, envelope } = built({ ...INPUT, payload });
        const parsed = parseStrictJson(body);
        if (parsed.kind === "invalid") throw new Error(parsed.reason);
        const checked = validateEnvelope(parsed.value);
        expect(checked.kind).toBe("valid");
        expect(canonicalJson(parsed.value)).toBe(body);
        expect(canonicalJson(envelope)).toBe(body);
      }),
    );
  });

  test.each<[string, unknown, string]>([
    ["no dedupe key", { ...INPUT, dedupeKey: undefined }, "/dedupe_key is missing"],
    ["an empty dedupe key", { ...INPUT, dedupeKey: "" }, "/dedupe_key is empty"],
    [
      "a lone surrogate",
      { ...INPUT, dedupeKey: "\ud800" },
      "/dedupe_key contains a lone surrogate",
    ],
    ["a bad source", { ...INPUT, source: "landsat" }, "/event_source is not <org>"],
    ["no offset", { ...INPUT, eventTime: "2026-11-15T08:00:00" }, "/event_time is not YYYY"],
    [
      "a bad number of time",
      { ...INPUT, eventTime: Number.NaN },
      "/event_time is not a whole number",
    ],
    ["a time beyond 9999", { ...INPUT, eventTime: 8.64e15 }, "/event_time is not a whole number"],
    ["a payload of NaN", { ...INPUT, payload: { a: Number.NaN } }, "/payload/a is NaN"],
    ["a payload with a Date", { ...INPUT, payload: { at: new Date(0) } }, "is not a plain object"],
    ["a payload with undefined", { ...INPUT, payload: { a: undefined } }, "is undefined"],
    ["a payload with a bigint", { ...INPUT, payload: { a: 1n } }, "is a bigint"],
    ["an array payload", { ...INPUT, payload: [] }, "/payload is not a JSON object"],
    [
      "a character SQS rejects",
      { ...INPUT, payload: { a: "\uffff" } },
      "character that SQS rejects",
    ],
  ])("%s is rejected before sending", (_, input, reason) => {
    expect(refusal(input)).toContain(reason);
  });

  test("all problems are reported at once", () => {
    const reasons = refusal({ source: "x", dedupeKey: "", eventTime: epochMs(0), payload: null });
    expect(reasons.split("; ")).toHaveLength(3);
  });

  test("control characters are escaped by JSON and may be sent", () => {
    expect(built({ ...INPUT, payload: { a: "\u0000\u0008" } }).body).toContain("\\u0000\\b");
  });
});

describe("identity", () => {
  const text = fc.string({ minLength: 1 });
  test("source and key are never confused (V3)", () => {
    fc.assert(
      fc.property(text, text, text, text, (source, key, otherSource, otherKey) => {
        fc.pre(source !== otherSource || key !== otherKey);
        expect(messageDedupId(source, key)).not.toBe(messageDedupId(otherSource, otherKey));
        expect(envelopeKey(source, key)).not.toBe(envelopeKey(otherSource, otherKey));
      }),
    );
    expect(messageDedupId("a.b", "c")).not.toBe(messageDedupId("a", "b.c"));
  });

  test("SQS accepts the deduplication id, however long the key", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (key) => {
        const id = messageDedupId("a.b.c", key);
        expect(id).toMatch(/^[0-9a-f]{64}$/);
        expect(id.length).toBeLessThanOrEqual(SQS_DEDUP_ID_CHARACTERS_MAX);
      }),
    );
  });

  test("an event id depends on source, key and time, and on nothing else", () => {
    const id = envelopeEventId("a.b.c", "k", epochMs(5));
    expect(envelopeEventId("a.b.c", "k", epochMs(5))).toBe(id);
    expect(envelopeEventId("a.b.d", "k", epochMs(5))).not.toBe(id);
    expect(envelopeEventId("a.b.c", "l", epochMs(5))).not.toBe(id);
    expect(envelopeEventId("a.b.c", "k", epochMs(6))).not.toBe(id);
    const before1970 = envelopeEventId("a.b.c", "k", epochMs(-5));
    expect(before1970).not.toBe(envelopeEventId("a.b.c", "k", epochMs(-6)));
  });

  test("a payload digest does not depend on the order of members", () => {
    expect(payloadDigest({ a: 1, b: [2] })).toBe(payloadDigest({ b: [2], a: 1 }));
    expect(payloadDigest({ a: 1 })).not.toBe(payloadDigest({ a: 2 }));
  });
});

describe("validation", () => {
  test("returns the value unchanged, with its unknown fields (V4)", () => {
    const value: JsonValue = { ...built(INPUT).envelope, x_team: "soil" };
    const checked = validateEnvelope(value);
    expect(checked).toEqual({ kind: "valid", value });
  });

  test("reports only the version of another version (V4)", () => {
    const checked = validateEnvelope({ schema_version: 2, event_source: 7 });
    expect(checked).toEqual({
      kind: "invalid",
      problems: [{ path: "/schema_version", reason: "is 2; this release reads 1" }],
    });
  });

  test("ignores members that every object inherits", () => {
    const checked = validateEnvelope(Object.create(INPUT) as JsonValue);
    expect(checked.kind).toBe("invalid");
  });
});
