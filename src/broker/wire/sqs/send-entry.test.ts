import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWire } from "../../../../test/support/scripted-broker.ts";
import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";

const INVALID = "com.amazon.coral.service#InvalidParameterValueException";

async function send(input: object, headers: Record<string, string> = {}) {
  const wire = createWire();
  const body = { QueueUrl: "q", MessageBody: "hi", ...input };
  const reply = await wire.json("SendMessage", body, headers);
  const asked = wire.asked[0]?.input as { entries: object[] } | undefined;
  return { reply, entry: asked?.entries[0] };
}

describe("a message", () => {
  test("reaches the broker complete, in milliseconds and bytes", async () => {
    const { entry } = await send({
      MessageBody: "héllo",
      DelaySeconds: 900,
      MessageGroupId: "g",
      MessageDeduplicationId: "d",
      MessageAttributes: {
        color: { DataType: "String.x", StringValue: "blau" },
        blob: { DataType: "Binary", BinaryValue: "AQID" },
      },
    });
    expect(entry).toEqual({
      body: "héllo",
      sizeBytes: 6 + (5 + 8 + 4) + (4 + 6 + 3),
      attributes: {
        color: { type: "String.x", value: "blau" },
        blob: { type: "Binary", value: "AQID" },
      },
      traceHeader: null,
      groupId: "g",
      dedupId: "d",
      delayMs: 900_000,
    });
  });

  test.each([undefined, null, ""])("without a body (%o) lacks a parameter", async (MessageBody) => {
    const { reply, entry } = await send({ MessageBody });
    expect(reply.value).toEqual({
      __type: "com.amazon.coral.service#MissingRequiredParameterException",
      message: "The request must contain the parameter MessageBody.",
    });
    expect(entry).toBeUndefined();
  });

  test.each(["\u0000", "\u0008", "\u000b", "\u001f", "\uFFFE", "\uFFFF", "\uD800", "\uDC00x"])(
    "with a character that AWS does not accept (%j) is refused",
    async (character) => {
      const { reply, entry } = await send({ MessageBody: `a${character}b` });
      expect(reply.value.__type).toBe("com.amazonaws.sqs#InvalidMessageContents");
      expect(entry).toBeUndefined();
    },
  );

  test("is refused exactly if a character is outside AWS's ranges", () => {
    const allowed = (point: number) =>
      point === 0x9 ||
      point === 0xa ||
      point === 0xd ||
      (point >= 0x20 && point <= 0xd7ff) ||
      (point >= 0xe000 && point <= 0xfffd) ||
      point >= 0x10000;
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.integer({ min: 0, max: 0xffff }),
        (text, unit) => {
          const whole = text + String.fromCharCode(unit);
          const points = [...whole].map((character) => character.codePointAt(0)!);
          expect(hasInvalidXmlCharacter(whole)).toBe(!points.every(allowed));
        },
      ),
    );
  });

  test.each([
    [
      { DelaySeconds: 901 },
      "Value 901 for parameter DelaySeconds is invalid. Reason: " +
        "DelaySeconds must be >= 0 and <= 900.",
    ],
    [
      { DelaySeconds: -1 },
      "Value -1 for parameter DelaySeconds is invalid. Reason: " +
        "DelaySeconds must be >= 0 and <= 900.",
    ],
    [
      { MessageGroupId: "" },
      "Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId can only " +
        "include alphanumeric and punctuation characters. 1 to 128 in length.",
    ],
    [
      { MessageGroupId: "a b" },
      "Value a b for parameter MessageGroupId is invalid. Reason: MessageGroupId can only " +
        "include alphanumeric and punctuation characters. 1 to 128 in length.",
    ],
    [
      { MessageDeduplicationId: "é" },
      "Value é for parameter MessageDeduplicationId is invalid. Reason: " +
        "MessageDeduplicationId can only include alphanumeric and punctuation characters. " +
        "1 to 128 in length.",
    ],
  ])("with %o is refused with AWS's message", async (input, message) => {
    const { reply, entry } = await send(input);
    expect(reply.value).toEqual({ __type: INVALID, message });
    expect(entry).toBeUndefined();
  });

  test("may have every printable character in its group id, up to 128 of them", async () => {
    const id = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join("");
    expect((await send({ MessageGroupId: id })).reply.status).toBe(200);
    expect((await send({ MessageGroupId: "a".repeat(128) })).reply.status).toBe(200);
    expect((await send({ MessageGroupId: "a".repeat(129) })).reply.status).toBe(400);
  });
});

describe("attributes", () => {
  const one = (name: string, value: object) => send({ MessageAttributes: { [name]: value } });
  const valid = { DataType: "String", StringValue: "x" };

  test.each(["a", "A-1_x.y", "attr.1øßä", "L".repeat(256), "awsx", "__proto__x"])(
    "may be named %s",
    async (name) => {
      expect((await one(name, valid)).reply.status).toBe(200);
    },
  );

  test("may even be named __proto__", async () => {
    const wire = createWire();
    await wire.json(
      "SendMessage",
      '{"QueueUrl":"q","MessageBody":"b","MessageAttributes":' +
        '{"__proto__":{"DataType":"String","StringValue":"x"}}}',
    );
    const { entries } = wire.asked[0]!.input as { entries: { attributes: object }[] };
    expect(Object.keys(entries[0]!.attributes)).toEqual(["__proto__"]);
  });

  test.each([
    "",
    "aWs.x",
    "AMAZON.x",
    ".x",
    "x.",
    "a..b",
    "a!b",
    'a"b',
    "a§b",
    "a b",
    "L".repeat(257),
  ])("may not be named %j", async (name) => {
    const { reply, entry } = await one(name, valid);
    expect(reply.status).toBe(400);
    expect(entry).toBeUndefined();
  });

  test.each([
    [
      { DataType: "String", StringValue: "" },
      "Message (user) attribute 'n' must contain a non-empty value of type 'String'.",
    ],
    [
      { DataType: "String.custom" },
      "Message (user) attribute 'n' must contain a non-empty value of type 'String'.",
    ],
    [
      { DataType: "Binary", BinaryValue: "" },
      "Message (user) attribute 'n' must contain a non-empty value of type 'Binary'.",
    ],
    [
      { DataType: "Number", StringValue: "abc" },
      "Can't cast the value of message (user) attribute 'n' to a number.",
    ],
    [
      { DataType: "Number.int", StringValue: "1e" },
      "Can't cast the value of message (user) attribute 'n' to a number.",
    ],
    [
      { DataType: "Invalid", StringValue: "x" },
      "The type of message (user) attribute 'n' is invalid. You must use only " +
        "the following supported type prefixes: Binary, Number, String.",
    ],
    [
      { DataType: "Stringx", StringValue: "x" },
      "The type of message (user) attribute 'n' is invalid. You must use only " +
        "the following supported type prefixes: Binary, Number, String.",
    ],
    [
      { StringValue: "x" },
      "The message (user) attribute 'n' must contain a non-empty message attribute type.",
    ],
    [
      { DataType: `Number.${"L".repeat(256)}`, StringValue: "1" },
      "Message (user) attribute types must be shorter than 256 Bytes",
    ],
    [
      { DataType: "String", StringValue: "a\u0008" },
      "Message (user) attribute 'n' contains characters outside the allowed set.",
    ],
    [
      { DataType: "Binary", StringValue: "x" },
      "The message attribute 'n' with type 'Binary' must use field 'Binary'.",
    ],
    [
      { DataType: "String", BinaryValue: "AQID" },
      "The message attribute 'n' with type 'String' must use field 'String'.",
    ],
  ])("of value %o are refused with AWS's message", async (value, message) => {
    const { reply, entry } = await one("n", value);
    expect(reply.value).toEqual({ __type: INVALID, message });
    expect(entry).toBeUndefined();
  });

  test.each([
    { DataType: "String", StringListValues: ["x"] },
    { DataType: "Binary", BinaryListValues: ["AQID"] },
  ])("with lists of values (%o) are not supported", async (value) => {
    const { reply } = await one("n", value);
    expect(reply.value.__type).toBe("com.amazonaws.sqs#UnsupportedOperation");
  });

  test.each(["0", "-1.5", "+.5", "1.", "1e-128", "12345678901234567890"])(
    "may be the number %s",
    async (StringValue) => {
      expect((await one("n", { DataType: "Number", StringValue })).reply.status).toBe(200);
    },
  );

  test("may be ten, not eleven", async () => {
    const some = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, valid]));
    expect((await send({ MessageAttributes: some(10) })).reply.status).toBe(200);
    expect((await send({ MessageAttributes: some(11) })).reply.value.message).toBe(
      "Number of message attributes [11] exceeds the allowed maximum [10].",
    );
  });
});

describe("the trace header", () => {
  const trace = { AWSTraceHeader: { DataType: "String", StringValue: "Root=own" } };
  const header = { "x-amzn-trace-id": "Root=inherited" };

  test("comes from the request, does not count towards the size, and has no checksum", async () => {
    const { reply, entry } = await send({}, header);
    expect(entry).toMatchObject({ traceHeader: "Root=inherited", sizeBytes: 2 });
    expect(reply.value.MD5OfMessageSystemAttributes).toBeUndefined();
  });

  test("of the message overrides that of the request", async () => {
    const { reply, entry } = await send({ MessageSystemAttributes: trace }, header);
    expect(entry).toMatchObject({ traceHeader: "Root=own" });
    expect(reply.value.MD5OfMessageSystemAttributes).toMatch(/^[0-9a-f]{32}$/);
    expect(reply.value.MD5OfMessageAttributes).toBeUndefined();
  });

  test.each([
    { Other: { DataType: "String", StringValue: "x" } },
    { AWSTraceHeader: { DataType: "Binary", BinaryValue: "AQID" } },
    { AWSTraceHeader: { DataType: "String", StringValue: "" } },
  ])("is the only system attribute, and a string (%o)", async (MessageSystemAttributes) => {
    expect((await send({ MessageSystemAttributes })).reply.value.__type).toBe(INVALID);
  });
});
