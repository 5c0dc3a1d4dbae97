import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SnsLayer } from "./decode/sns-envelope.ts";
import {
  extractTrace,
  formatTraceHeader,
  formatTraceparent,
  injectTrace,
  parseTraceHeader,
  parseTraceparent,
  readTraceContext,
  readTracestate,
} from "./trace-context.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${ID}-${SPAN}-01`;
const OTHER = `00-${"a".repeat(32)}-${"b".repeat(16)}-00`;
const XRAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

function layer(attributes: SnsLayer["attributes"]): SnsLayer {
  const none = { messageId: null, subject: null, timestamp: null, sequenceNumber: null };
  return { topicArn: "arn:aws:sns:eu-west-1:000000000000:t", ...none, attributes };
}

const wrapped = (traceparent: string) =>
  layer({ traceparent: { Type: "String", Value: traceparent } });
const nowhere = { attributes: {}, layers: [], traceHeader: null };

describe("traceparent", () => {
  test("is read into its parts and written back", () => {
    expect(parseTraceparent(PARENT)).toEqual({ traceId: ID, spanId: SPAN, flags: 1 });
    expect(formatTraceparent({ traceId: ID, spanId: SPAN, flags: 3 })).toBe(`00-${ID}-${SPAN}-03`);
  });

  test("of a later version is read as version 00", () => {
    const later = { traceId: ID, spanId: SPAN, flags: 1 };
    expect(parseTraceparent(`cc-${ID}-${SPAN}-0f-what-the-future-brings`)).toEqual(later);
    expect(parseTraceparent(`cc-${ID}-${SPAN}-0f`)).toEqual(later);
  });

  test.each([
    "",
    "00",
    PARENT.toUpperCase(),
    `${PARENT}-more`,
    `${PARENT} `,
    ` ${PARENT}`,
    `ff-${ID}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${ID}-${"0".repeat(16)}-01`,
    `00-${ID}-${SPAN}-1`,
    `01-${ID}-${SPAN}-01.more`,
    `00-${ID.slice(1)}-${SPAN}-01`,
    `01-${ID}-${SPAN}-01-${"x".repeat(2_000)}`,
  ])("%j is rejected", (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });

  test("survives a round trip, whatever its parts", () => {
    const parts = fc.record({
      traceId: fc.stringMatching(/^[0-9a-f]{31}[1-9a-f]$/),
      spanId: fc.stringMatching(/^[0-9a-f]{15}[1-9a-f]$/),
      flags: fc.integer({ min: 0, max: 255 }),
    });
    fc.assert(
      fc.property(parts, (each) => {
        expect(parseTraceparent(formatTraceparent(each))).toEqual(each);
      }),
    );
  });
});

describe("tracestate", () => {
  test("is normalised", () => {
    expect(readTracestate(" a=1 ,, tenant@vendor=x y\t")).toBe("a=1,tenant@vendor=x y");
  });

  test.each(["", ",", "a", "=1", "a=", "A=1", "a=1,a=2", "a=b=c", "a=\u00e9", "a=1;b=2,=", "1=x"])(
    "%j is rejected without losing the traceparent",
    (text) => {
      expect(readTracestate(text)).toBeNull();
      expect(readTraceContext(PARENT, text)).toEqual({ traceparent: PARENT, tracestate: null });
    },
  );

  test("that is too long loses whole members from its end", () => {
    const members = Array.from({ length: 20 }, (_, at) => `key${at}=${"x".repeat(30)}`);
    const read = readTracestate(members.join(",")) ?? "";
    expect(read.length).toBeLessThanOrEqual(512);
    expect(members.join(",").startsWith(`${read},`)).toBe(true);
    const many = Array.from({ length: 33 }, (_, at) => `k${at}=1`).join(",");
    expect(readTracestate(many)).toBeNull();
  });
});

describe("the header of X-Ray", () => {
  const context = {
    traceparent: "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01",
    tracestate: null,
  };
  const traceId = "5759e988bd862e3fe1be46a994272793";

  test("is the same context in another format", () => {
    expect(parseTraceHeader(XRAY)).toEqual({ context, traceId });
    expect(parseTraceHeader(XRAY.replaceAll(";", "; "))).toEqual({ context, traceId });
    expect(formatTraceHeader(context)).toBe(XRAY);
  });

  test("without a parent is an id without a context", () => {
    const root = "Root=1-5759e988-bd862e3fe1be46a994272793";
    expect(parseTraceHeader(root)).toEqual({ context: null, traceId });
    expect(parseTraceHeader(`${root};Parent=0000000000000000`)).toEqual({ context: null, traceId });
  });

  test("is not sampled by default", () => {
    const flags = (sampled: string) =>
      parseTraceHeader(XRAY.replace("Sampled=1", sampled))?.context?.traceparent.slice(-2);
    expect([flags("Sampled=0"), flags("Sampled=?"), flags("Self=x")]).toEqual(["00", "00", "00"]);
  });

  test.each([
    "",
    ";;",
    "Root=",
    "Root=2-5759e988-bd862e3fe1be46a994272793",
    "Parent=53995c3f42cd8ad8",
  ])("%j is rejected", (header) => expect(parseTraceHeader(header)).toBeNull());
});

describe("extracting", () => {
  test("tries attributes, SNS envelopes, AWSTraceHeader and the event, in this order", () => {
    const event = "e".repeat(32);
    const attributes = { traceparent: PARENT, tracestate: "a=1" };
    const layers = [wrapped(OTHER)];
    const all = { attributes, layers, traceHeader: XRAY, traceId: event };
    expect(extractTrace(all)).toEqual({ context: attributes, traceId: ID });
    const traceId = "a".repeat(32);
    expect(extractTrace({ ...all, attributes: {} })).toEqual({
      context: { traceparent: OTHER, tracestate: null },
      traceId,
    });
    expect(extractTrace({ ...all, attributes: {}, layers: [] })).toEqual(parseTraceHeader(XRAY));
    expect(extractTrace({ ...nowhere, traceId: event })).toEqual({ context: null, traceId: event });
    expect(extractTrace(nowhere)).toEqual({ context: null, traceId: null });
  });

  test("the innermost SNS envelope is the publisher's and wins", () => {
    const layers = [wrapped(OTHER), wrapped(PARENT), layer({})];
    expect(extractTrace({ ...nowhere, layers }).traceId).toBe(ID);
  });

  test("a malformed value is skipped in favour of the next source", () => {
    const layers = [
      layer({ traceparent: { Type: "String", Value: 7 } }),
      layer({ traceparent: 1 }),
    ];
    const attributes = { traceparent: "00-what" };
    const extracted = extractTrace({ attributes, layers, traceHeader: XRAY, traceId: null });
    expect(extracted).toEqual(parseTraceHeader(XRAY));
    const bad = { attributes, layers, traceHeader: "Root=?", traceId: "0".repeat(32) };
    expect(extractTrace(bad)).toEqual({ context: null, traceId: null });
  });

  test("never throws on any message, and its results can be read again (X4)", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(PARENT, XRAY, "a=1"));
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("traceparent", "tracestate", "x"), text),
        fc.dictionary(fc.constantFrom("traceparent", "tracestate"), fc.jsonValue()),
        fc.option(text),
        fc.option(text),
        (attributes, inner, traceHeader, traceId) => {
          const layers = [layer(inner as SnsLayer["attributes"])];
          const { context } = extractTrace({ attributes, layers, traceHeader, traceId });
          if (context === null) return;
          const { attributes: written } = injectTrace(context);
          expect(extractTrace({ ...nowhere, attributes: { ...written } }).context).toEqual(context);
        },
      ),
    );
  });
});

describe("injecting", () => {
  test("uses at most two attributes, and none for a malformed context", () => {
    expect(injectTrace({ traceparent: PARENT, tracestate: "a=1" })).toEqual({
      attributes: { traceparent: PARENT, tracestate: "a=1" },
    });
    const bad = { traceparent: PARENT, tracestate: "no state" };
    expect(injectTrace(bad)).toEqual({ attributes: { traceparent: PARENT } });
    expect(injectTrace({ traceparent: "nonsense", tracestate: "a=1" })).toEqual({ attributes: {} });
    expect(injectTrace(null)).toEqual({ attributes: {} });
  });
});
