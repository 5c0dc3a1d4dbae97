import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  eventKey,
  idempotencyKey,
  kindOf,
  normalizeEtag,
  normalizeEventName,
  normalizeVersionId,
  type ObjectIdentityParts,
} from "./object-identity.ts";
import { compareSequencers } from "./sequencer.ts";

const PUT: ObjectIdentityParts = {
  kind: "created",
  event_name: "ObjectCreated:Put",
  bucket: "b",
  key: "k",
  version_id: "v1",
  etag: "e1",
  size: 3,
  sequencer: "0065",
  request_id: "R1",
  event_time: "2026-11-15T08:00:00.000Z",
};
const REMOVAL: ObjectIdentityParts = {
  ...PUT,
  kind: "removed",
  event_name: "ObjectRemoved:Delete",
  etag: null,
  size: null,
};
const TAGGING: ObjectIdentityParts = {
  ...PUT,
  kind: "tagged",
  event_name: "ObjectTagging:Put",
  sequencer: null,
  size: null,
};

const hex = (): fc.Arbitrary<string> => fc.stringMatching(/^[0-9A-F]{1,20}$/);

describe("the event key (D1)", () => {
  test.each<[string, ObjectIdentityParts, Partial<ObjectIdentityParts>]>([
    ["what happened", PUT, { kind: "removed", event_name: "ObjectRemoved:Delete" }],
    ["the bucket", PUT, { bucket: "c" }],
    ["the key", PUT, { key: "l" }],
    ["the version", PUT, { version_id: "v2" }],
    ["the sequencer", PUT, { sequencer: "0066" }],
    ["the request, without a sequencer", TAGGING, { request_id: "R2" }],
    ["the time, without either", { ...TAGGING, request_id: null }, { event_time: "x" }],
  ])("depends on %s", (_, parts, change) => {
    expect(eventKey({ ...parts, ...change })).not.toBe(eventKey(parts));
  });

  test.each<[string, Partial<ObjectIdentityParts>]>([
    [
      "how the bytes came, which sources describe differently",
      { event_name: "ObjectCreated:Copy" },
    ],
    ["the request, with a sequencer", { request_id: "R2" }],
    ["the time, which differs between sources", { event_time: "2026-11-15T08:00:01.000Z" }],
    ["ETag and size, which the sequencer implies", { etag: null, size: null }],
    ["trailing zeros of a sequencer, which do not count", { sequencer: "006500" }],
  ])("does not depend on %s", (_, change) => {
    expect(eventKey({ ...PUT, ...change })).toBe(eventKey(PUT));
  });

  test("is equal exactly when two sequencers compare as equal", () => {
    fc.assert(
      fc.property(hex(), fc.oneof(hex(), fc.constant("")), fc.nat(3), (left, other, zeros) => {
        const right = other === "" ? left + "0".repeat(zeros) : other;
        const one = eventKey({ ...PUT, sequencer: left });
        const two = eventKey({ ...PUT, sequencer: right });
        expect(one === two).toBe(compareSequencers(left, right) === 0);
      }),
    );
  });
});

describe("the idempotency key (D2)", () => {
  test.each<[string, ObjectIdentityParts, Partial<ObjectIdentityParts>]>([
    ["what happened", PUT, { kind: "removed", event_name: "ObjectRemoved:Delete" }],
    ["the bucket", PUT, { bucket: "c" }],
    ["the key", PUT, { key: "l" }],
    ["the ETag of existing bytes", PUT, { etag: "e2" }],
    ["the size of existing bytes", PUT, { size: 4 }],
    ["the version of removed bytes", REMOVAL, { version_id: "v2" }],
    ["the version that was tagged", TAGGING, { version_id: "v2" }],
    ["the exact name of other events", TAGGING, { event_name: "ObjectTagging:Delete" }],
  ])("depends on %s", (_, parts, change) => {
    expect(idempotencyKey({ ...parts, ...change })).not.toBe(idempotencyKey(parts));
  });

  test.each<[string, Partial<ObjectIdentityParts>]>([
    ["the version, which ListObjectsV2 does not return", { version_id: null }],
    ["the sequencer, which HEAD does not return", { sequencer: null }],
    ["the request", { request_id: null }],
    ["the time", { event_time: "2020-01-01T00:00:00.000Z" }],
    ["how the bytes came", { event_name: "ObjectCreated:Observed" }],
  ])("of existing bytes does not depend on %s", (_, change) => {
    expect(idempotencyKey({ ...PUT, ...change })).toBe(idempotencyKey(PUT));
  });

  test("of an object without ETag belongs to one event only (D5)", () => {
    const unknown = { ...PUT, etag: null };
    expect(idempotencyKey(unknown)).toBe(idempotencyKey({ ...unknown }));
    expect(idempotencyKey({ ...unknown, sequencer: "0066" })).not.toBe(idempotencyKey(unknown));
  });

  test("is never an event key", () => {
    for (const parts of [PUT, REMOVAL, TAGGING]) {
      expect(idempotencyKey(parts)).not.toBe(eventKey(parts));
    }
  });
});

describe("sequencers", () => {
  test("the shorter is padded with zeros on the right", () => {
    expect(compareSequencers("0055AED6DCD90281E5", "0055AED6DCD90281E6")).toBe(-1);
    expect(compareSequencers("01", "00FF")).toBe(1); // Padded on the left, it would be -1.
    expect(compareSequencers("01", "0100")).toBe(0);
    expect(compareSequencers("0a", "0B")).toBe(-1);
  });

  test("are totally ordered", () => {
    fc.assert(
      fc.property(hex(), hex(), hex(), (a, b, c) => {
        expect(compareSequencers(a, b) + compareSequencers(b, a)).toBe(0);
        if (compareSequencers(a, b) <= 0 && compareSequencers(b, c) <= 0) {
          expect(compareSequencers(a, c)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });

  test("of equal length are ordered as numbers, so both AWS documents agree on them", () => {
    const pair = fc.tuple(fc.stringMatching(/^[0-9A-F]{16}$/), fc.stringMatching(/^[0-9A-F]{16}$/));
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const difference = BigInt(`0x${a}`) - BigInt(`0x${b}`);
        expect(compareSequencers(a, b)).toBe(difference === 0n ? 0 : difference < 0n ? -1 : 1);
      }),
    );
  });
});

describe("spellings", () => {
  test("ETags lose their quotes and nothing else", () => {
    expect(normalizeEtag('"abc-3"')).toBe("abc-3");
    expect(normalizeEtag("abc-3")).toBe("abc-3");
    expect(normalizeEtag('"')).toBe('"');
    expect(normalizeEtag('""')).toBeNull();
  });

  test("the null version means no version", () => {
    expect(["null", "", "nul", "NULL"].map(normalizeVersionId)).toEqual([
      null,
      null,
      "nul",
      "NULL",
    ]);
  });

  test.each([
    ["s3:ObjectCreated:Put", "created"],
    ["ObjectCreated:CompleteMultipartUpload", "created"],
    ["ObjectRemoved:DeleteMarkerCreated", "removed"],
    ["LifecycleExpiration:Delete", "removed"],
    ["ObjectRestore:Completed", "restored"],
    ["ObjectTagging:Delete", "tagged"],
    ["ObjectAcl:Put", "other"],
    ["LifecycleTransition", "other"],
    ["ObjectCreatedish:Put", "other"],
    ["", "other"],
  ])("%s has the kind %s", (name, kind) => {
    expect(kindOf(normalizeEventName(name))).toBe(kind);
  });
});
