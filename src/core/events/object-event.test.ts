import { describe, expect, test } from "vitest";
import { parseUuid } from "../encoding/uuid.ts";
import { buildObjectEvent, type ObjectEvent, type ObjectFacts } from "./object-event.ts";
import { describeProblems } from "./problem.ts";

const FACTS: ObjectFacts = {
  source_kind: "s3-notification",
  event_name: "ObjectCreated:Put",
  bucket: "kfm-ingest",
  key: "orders/1.csv",
  version_id: undefined,
  etag: "abc",
  size: 3,
  sequencer: "0065",
  request_id: "R1",
  event_time: "2026-11-15T08:00:00.123Z",
  last_modified: undefined,
  trace_id: undefined,
};

function event(change: Partial<ObjectFacts> = {}): ObjectEvent {
  const built = buildObjectEvent({ ...FACTS, ...change });
  if (built.kind === "invalid") throw new Error(describeProblems(built.problems));
  return built.value;
}

function refusal(change: Partial<ObjectFacts>): string {
  const built = buildObjectEvent({ ...FACTS, ...change });
  if (built.kind === "valid") throw new Error("was accepted");
  return describeProblems(built.problems);
}

describe("one spelling (O1, O4)", () => {
  test.each<[string, Partial<ObjectFacts>]>([
    ["a quoted ETag", { etag: '"abc"' }],
    ["the null version", { version_id: "null" }],
    ["an empty version", { version_id: "" }],
    ["a prefixed name", { event_name: "s3:ObjectCreated:Put" }],
    ["a time with an offset", { event_time: "2026-11-15T09:00:00.123+01:00" }],
    ["a time with nanoseconds", { event_time: "2026-11-15T08:00:00.123456789Z" }],
    ["null for undefined", { last_modified: null, trace_id: null, version_id: null }],
  ])("%s makes no difference", (_, change) => {
    expect(event(change)).toEqual(event());
  });

  test("the event id is derived and contains the event's time", () => {
    const parsed = parseUuid(event().event_id);
    expect(parsed).toMatchObject({ version: 8, timeMs: 1_794_729_600_123 });
    expect(event({ sequencer: "0066" }).event_id).not.toBe(event().event_id);
  });

  test("a trace changes nothing but itself (O3)", () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    expect(event({ trace_id: trace })).toEqual({ ...event(), trace_id: trace });
  });
});

describe("all problems are reported, with their paths", () => {
  test.each<[string, Partial<ObjectFacts>, string]>([
    ["no bucket", { bucket: undefined }, "/bucket is missing"],
    ["an empty bucket", { bucket: "" }, "/bucket is empty"],
    ["a bucket that is a number", { bucket: 7 }, "/bucket is not a string"],
    ["no key", { key: null }, "/key is missing"],
    ["a key over 1,024 bytes", { key: "é".repeat(513) }, "/key is longer than 1024 bytes"],
    ["a key over 1,024 units", { key: "k".repeat(1025) }, "/key is longer than 1024 characters"],
    ["a lone surrogate", { key: "\ud800" }, "/key contains a lone surrogate"],
    ["a negative size", { size: -1 }, "/size is not a whole number"],
    ["a size as text", { size: "3" }, "/size is not a whole number"],
    ["an unsafe size", { size: 2 ** 53 }, "/size is not a whole number"],
    ["a bad sequencer", { sequencer: "g" }, "/sequencer is not hexadecimal"],
    ["no time", { event_time: undefined }, "/event_time is missing"],
    ["a time as number", { event_time: 5 }, "/event_time is not a string"],
    ["30 February", { event_time: "2026-02-30T00:00:00Z" }, "/event_time names day 30"],
    ["a bad trace", { trace_id: "xyz" }, "/trace_id is not a trace id"],
    ["a bad modification time", { last_modified: "now" }, "/last_modified is not YYYY"],
    ["no name", { event_name: undefined }, "/event_name is missing"],
  ])("%s", (_, change, reason) => {
    expect(refusal(change)).toContain(reason);
    expect(refusal(change).split("; ")).toHaveLength(1);
  });

  test("several at once", () => {
    expect(refusal({ bucket: "", size: -1, sequencer: "-" }).split("; ")).toHaveLength(3);
  });
});
