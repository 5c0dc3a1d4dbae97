import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../encoding/canonical-json.ts";
import { utf8ByteLength } from "../../encoding/text.ts";
import type { ObjectEvent } from "../object-event.ts";
import { describeProblems } from "../problem.ts";
import { decodeBody } from "./decode.ts";
import { decodeObservation } from "./observation.ts";
import { decodeFormKey } from "./s3-notification.ts";

interface State {
  readonly bucket: string;
  readonly key: string;
  readonly etag: string;
  readonly size: number;
  readonly versionId: string | null;
  readonly sequencer: string;
}

/** Like S3: form encoding, except for the slash. */
function formEncode(key: string): string {
  return new URLSearchParams({ k: key }).toString().slice(2).replaceAll("%2F", "/");
}

function notification(state: State): string {
  const { bucket, key, etag, size, versionId, sequencer } = state;
  const version = versionId === null ? {} : { versionId };
  const object = { key: formEncode(key), size, eTag: etag, ...version, sequencer };
  const record = {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    eventTime: "2026-11-15T08:00:00.123Z",
    eventName: "ObjectCreated:Put",
    s3: { bucket: { name: bucket }, object },
  };
  return JSON.stringify({ Records: [record] });
}

function eventBridge(state: State): string {
  const { bucket, key, etag, size, versionId, sequencer } = state;
  const version = versionId === null ? {} : { "version-id": versionId };
  return JSON.stringify({
    "detail-type": "Object Created",
    source: "aws.s3",
    time: "2026-11-15T08:00:00Z",
    detail: {
      bucket: { name: bucket },
      object: { key, size, etag, ...version, sequencer },
      reason: "PutObject",
    },
  });
}

function wrap(message: string): string {
  return JSON.stringify({ Type: "Notification", TopicArn: "arn:aws:sns:x", Message: message });
}

function only(body: string): ObjectEvent {
  const decoded = decodeBody(body);
  if (decoded.kind !== "records") throw new Error(decoded.kind);
  const [record] = decoded.records;
  if (record === undefined || record.kind === "undecodable") {
    throw new Error(describeProblems(record?.problems ?? []));
  }
  return record.event;
}

function observed(state: State, source: "head" | "listing", form: boolean): ObjectEvent {
  const observed = decodeObservation({
    source,
    bucket: state.bucket,
    key: form ? formEncode(state.key) : state.key,
    keyEncoding: form ? "form" : "raw",
    etag: `"${state.etag}"`,
    size: state.size,
    lastModified: "2026-11-15T08:00:00Z",
    // HEAD returns "null" for the null version; ListObjectsV2 never returns versions.
    versionId: source === "head" ? (state.versionId ?? "null") : null,
    traceId: null,
  });
  if (observed.kind === "invalid") throw new Error(describeProblems(observed.problems));
  return observed.value;
}

/** Keys that stress encodings: spaces, pluses, percents, escapes of escapes, all of Unicode. */
const anyKey = (): fc.Arbitrary<string> => {
  const piece = fc.oneof(
    fc.constantFrom(" ", "+", "%", "%20", "%2B", "%25", "/", "=", "&", "ö", "土", "\u{1f331}"),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 3 }),
    fc.string({ minLength: 1, maxLength: 3 }),
  );
  return fc
    .array(piece, { minLength: 1, maxLength: 12 })
    .map((pieces) => pieces.join(""))
    .filter((key) => key.isWellFormed() && utf8ByteLength(key) <= 1024);
};

const anyState = (): fc.Arbitrary<State> =>
  fc.record({
    bucket: fc.stringMatching(/^[a-z0-9][a-z0-9-]{1,20}[a-z0-9]$/),
    key: anyKey(),
    etag: fc.stringMatching(/^[0-9a-f]{32}(?:-[1-9][0-9]?)?$/),
    size: fc.maxSafeNat(),
    versionId: fc.oneof(fc.constant(null), fc.stringMatching(/^[A-Za-z0-9._]{5,32}$/)),
    sequencer: fc.stringMatching(/^[0-9A-F]{10,18}$/),
  });

describe("keys", () => {
  test("survive the encoding of every source, and are decoded once", () => {
    fc.assert(
      fc.property(anyState(), (state) => {
        const events = [
          only(notification(state)),
          only(wrap(notification(state))),
          only(eventBridge(state)),
          only(wrap(wrap(eventBridge(state)))),
          observed(state, "head", false),
          observed(state, "listing", false),
          observed(state, "listing", true),
        ];
        for (const event of events) expect(event.key).toBe(state.key);
      }),
    );
  });

  test("that are not form-encoded UTF-8 are reported", () => {
    expect(decodeFormKey("%E2%82%AC+%2b")).toBe("€ +");
    for (const bad of ["%", "%2", "%zz", "%C3%28", "%FF", "%ED%A0%80"]) {
      expect(decodeFormKey(bad)).toBeNull();
    }
  });
});

describe("identities", () => {
  test("an object state has one idempotency key, whatever its source", () => {
    fc.assert(
      fc.property(anyState(), (state) => {
        const keys = [
          only(notification(state)),
          only(wrap(notification(state))),
          only(eventBridge(state)),
          observed(state, "head", false),
          observed(state, "listing", true),
        ].map((event) => event.idempotency_key);
        expect(new Set(keys).size).toBe(1);
      }),
    );
  });

  test("an event has one event key, by notification and by EventBridge", () => {
    fc.assert(
      fc.property(anyState(), (state) => {
        const notified = only(notification(state));
        expect(only(eventBridge(state)).event_key).toBe(notified.event_key);
        expect(only(wrap(notification(state))).event_id).toBe(notified.event_id);
      }),
    );
  });

  test("different states have different keys", () => {
    fc.assert(
      fc.property(anyState(), anyState(), (one, two) => {
        const bytes = ({ bucket, key, etag, size }: State): string =>
          canonicalJson([bucket, key, etag, size]);
        const first = only(notification(one)).idempotency_key;
        const same = first === only(eventBridge(two)).idempotency_key;
        expect(same).toBe(bytes(one) === bytes(two));
      }),
    );
  });

  test("a Tidegate object event reads back as itself", () => {
    fc.assert(
      fc.property(anyState(), (state) => {
        const event = only(notification(state));
        expect(only(canonicalJson(event))).toEqual(event);
        expect(only(wrap(JSON.stringify(event)))).toEqual(event);
      }),
    );
  });
});

describe("every input gets a result (M1)", () => {
  test("any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (body) => {
        expect(["records", "envelope", "test-event", "undecodable"]).toContain(
          decodeBody(body).kind,
        );
      }),
    );
  });

  test("any message of a known shape with any value in any place", () => {
    const bodies = [notification, eventBridge].map((of) =>
      of({ bucket: "b", key: "k", etag: "e", size: 1, versionId: "v", sequencer: "0A" }),
    );
    const places = bodies.map((body) => [...body.matchAll(/"(?:[^"\\]|\\.)*"|\d+/g)]);
    fc.assert(
      fc.property(fc.nat(1), fc.nat(60), fc.jsonValue(), (which, at, value) => {
        const body = bodies[which] as string;
        const list = places[which] as RegExpExecArray[];
        const match = list[at % list.length] as RegExpExecArray;
        const end = match.index + match[0].length;
        const mutant = body.slice(0, match.index) + JSON.stringify(value) + body.slice(end);
        for (const text of [mutant, wrap(mutant)]) {
          const decoded = decodeBody(text);
          if (decoded.kind !== "undecodable") continue;
          expect(decoded.problems.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a duplicate name is rejected, since two readers might pick two keys", () => {
    const body = '{"dedupe_key":"a","event_source":"a.b.c","dedupe_key":"b"}';
    expect(decodeBody(body)).toMatchObject({
      kind: "undecodable",
      problems: [{ path: "/dedupe_key" }],
    });
  });
});
