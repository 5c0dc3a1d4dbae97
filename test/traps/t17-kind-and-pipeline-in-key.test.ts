// T17: if the key lacks what happened and who consumes it, a removal is a duplicate of the
// creation, and two pipelines over one table suppress each other.

import { describe, expect, test } from "vitest";
import { recordKey } from "../../src/ledger/record-key.ts";
import { eventOf, notificationOf } from "../support/traps/message.ts";

const VERSION = { versionId: "3Lg", eTag: "0cc175b9c0f1b6a831c399e269772661" };
const NAMES = [
  "ObjectCreated:Put",
  "ObjectRemoved:Delete",
  "ObjectRestore:Post",
  "ObjectRestore:Completed",
  "ObjectRestore:Delete",
  "ObjectTagging:Put",
  "ObjectTagging:Delete",
  "ObjectAcl:Put",
  "LifecycleTransition",
];

describe("T17: kind and consumer are part of the key", () => {
  const events = NAMES.map((eventName) => eventOf(notificationOf({ ...VERSION, eventName })));

  test("different changes to one version by one request are different events", () => {
    expect(new Set(events.map((event) => event.event_key)).size).toBe(NAMES.length);
    expect(new Set(events.map((event) => event.idempotency_key)).size).toBe(NAMES.length);
  });

  test("two pipelines, and two generations of one, have separate records", () => {
    const identity = events[0]?.event_key ?? "";
    const keys = [
      recordKey({ pipeline: "soil", generation: 0 }, identity),
      recordKey({ pipeline: "soil", generation: 1 }, identity),
      recordKey({ pipeline: "billing", generation: 0 }, identity),
    ];
    expect(new Set(keys).size).toBe(3);
  });

  test("the same tagging, requested twice, is two events", () => {
    const tagging = (requestId: string): string =>
      eventOf(notificationOf({ ...VERSION, eventName: "ObjectTagging:Put", requestId })).event_key;
    expect(tagging("R1")).not.toBe(tagging("R2"));
    expect(tagging("R1")).toBe(tagging("R1"));
  });
});
