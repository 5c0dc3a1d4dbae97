// Walks the corpus of messages: NAME.json is a body as received from a queue, NAME.expected.json
// its expected decoding. A second implementation computed the keys in it, so that a change of
// scheme is noticed.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Decoded, decodeBody } from "../../src/core/events/decode/decode.ts";

const FOLDER = new URL("notifications/", import.meta.url);
const EXPECTED = ".expected.json";

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), "utf8");
}

const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith(EXPECTED))
  .map((file) => file.slice(0, -EXPECTED.length));

/** A decoding as the corpus describes it: events in full, problems by their paths. */
function summary(decoded: Decoded): unknown {
  const { layers } = decoded;
  switch (decoded.kind) {
    case "records": {
      const records = decoded.records.map((record) =>
        record.kind === "event"
          ? { kind: "event", event: record.event }
          : { kind: "undecodable", paths: record.problems.map(({ path }) => path) },
      );
      return { kind: "records", layers, records };
    }
    case "envelope":
      return { kind: "envelope", layers };
    case "test-event":
      return { kind: "test-event", testEvent: decoded.testEvent, layers };
    case "undecodable":
      return { kind: "undecodable", paths: decoded.problems.map(({ path }) => path), layers };
  }
}

/** The innermost message as JSON. */
function innermost(body: string, layers: number): unknown {
  let value: unknown = JSON.parse(body);
  for (let layer = 0; layer < layers; layer++) {
    value = JSON.parse((value as { Message: string }).Message);
  }
  return value;
}

test("the corpus has every message and every expectation in pairs", () => {
  const files = readdirSync(FOLDER);
  expect(files).toHaveLength(names.length * 2);
  for (const name of names) expect(files).toContain(`${name}.json`);
  for (const minor of [1, 2, 3, 4, 5, 6]) {
    expect(names.some((name) => name.startsWith(`v2-${minor}-`))).toBe(true);
  }
});

describe("every message of the corpus is decoded as expected", () => {
  test.each(names)("%s", (name) => {
    const decoded = decodeBody(read(`${name}.json`));
    expect(summary(decoded)).toEqual(JSON.parse(read(`${name}${EXPECTED}`)));
  });
});

describe("no field of a message is lost, known or unknown", () => {
  test.each(names)("%s", (name) => {
    const body = read(`${name}.json`);
    const decoded = decodeBody(body);
    const message = innermost(body, decoded.kind === "undecodable" ? 0 : decoded.layers.length);
    if (decoded.kind === "envelope") expect(decoded.envelope).toEqual(message);
    if (decoded.kind !== "records") return;
    const originals = (message as { Records?: unknown[] }).Records ?? [message];
    expect(decoded.records.map((record) => record.original)).toEqual(originals);
  });
});

test("every event passes on its trace, which changes none of its keys", () => {
  const body = read("many-records.json");
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const plain = decodeBody(body);
  const traced = decodeBody(body, { traceId });
  if (plain.kind !== "records" || traced.kind !== "records") throw new Error("not read");
  traced.records.forEach((record, index) => {
    const other = plain.records[index];
    if (record.kind !== "event" || other?.kind !== "event") throw new Error("not read");
    expect(record.event).toEqual({ ...other.event, trace_id: traceId });
  });
});
