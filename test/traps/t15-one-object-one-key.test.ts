// T15: optional fields and spellings split one object into several keys, and live events and a
// backfill apply it twice.

import { describe, expect, test } from "vitest";
import { decodeObservation } from "../../src/core/events/decode/observation.ts";
import type { ObjectEvent } from "../../src/core/events/object-event.ts";
import { eventOf, notificationOf, snsWrapped } from "../support/traps/message.ts";

const KEY = "red flower+100%.jpg";
const ETAG = "0cc175b9c0f1b6a831c399e269772661";

function seen(source: "head" | "listing", versionId: string | null): ObjectEvent {
  const observed = decodeObservation({
    source,
    bucket: "kfm-ingest",
    key: KEY,
    keyEncoding: "raw",
    etag: `"${ETAG}"`,
    size: 7,
    lastModified: "2026-11-15T08:00:00Z",
    versionId,
    traceId: null,
  });
  if (observed.kind === "invalid") throw new Error("was refused");
  return observed.value;
}

function eventBridge(version: object): ObjectEvent {
  return eventOf(
    JSON.stringify({
      "detail-type": "Object Created",
      source: "aws.s3",
      time: "2026-11-15T08:00:00Z",
      detail: {
        bucket: { name: "kfm-ingest" },
        object: { key: KEY, size: 7, etag: ETAG, sequencer: "0065", ...version },
        reason: "PutObject",
      },
    }),
  );
}

function notified(version: object): ObjectEvent {
  const identities = { key: "red+flower%2B100%25.jpg", eTag: ETAG, size: 7, sequencer: "0065" };
  return eventOf(snsWrapped(notificationOf({ ...identities, ...version })));
}

describe("T15: one object state, one key", () => {
  test.each([
    ["without versions", {}, {}, "null"],
    ["with versions", { versionId: "3Lg" }, { "version-id": "3Lg" }, "3Lg"],
  ])("%s: notification, EventBridge, HEAD and listing agree", (_, identities, bridged, head) => {
    const events = [
      notified(identities),
      eventBridge(bridged),
      seen("head", head),
      seen("listing", null), // ListObjectsV2 tells no version, whatever the bucket.
    ];
    for (const event of events) {
      expect(event).toMatchObject({ bucket: "kfm-ingest", key: KEY, etag: ETAG, size: 7 });
    }
    expect(new Set(events.map((event) => event.idempotency_key)).size).toBe(1);
  });

  test("a key from EventBridge is not decoded, and so identifies another object", () => {
    const encoded = eventOf(notificationOf({ key: "a%2Bb", eTag: ETAG, size: 7, sequencer: "01" }));
    expect(encoded.key).toBe("a+b");
    expect(eventBridge({ key: "a%2Bb" }).key).toBe("a%2Bb");
  });

  test("fields are not confused with each other", () => {
    const one = eventOf(notificationOf({ key: "a", eTag: "bc", size: 1, sequencer: "01" }));
    const two = eventOf(notificationOf({ key: "ab", eTag: "c", size: 1, sequencer: "01" }));
    expect(one.idempotency_key).not.toBe(two.idempotency_key);
  });

  test("keys contain the version of their scheme", () => {
    expect(notified({}).idempotency_key).toMatch(/^k1:[0-9a-f]{64}$/);
    expect(notified({}).event_key).toMatch(/^k1:[0-9a-f]{64}$/);
  });
});
