import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWire } from "../../test/support/scripted-broker.ts";

describe("a request", () => {
  test("with a target goes to the JSON protocol on any path, the admin's included", async () => {
    const wire = createWire();
    const reply = await wire.send({
      method: "POST",
      path: "/_tidegate/health",
      headers: { "x-amz-target": "AmazonSQS.ListQueues" },
      body: Buffer.from("{}"),
    });
    expect(reply.text).toBe("{}");
    expect(wire.asked[0]?.name).toBe("listQueues");
  });

  test("below a path that only begins like the admin's is not the admin's", async () => {
    const wire = createWire();
    await wire.send({ method: "POST", path: "/_tidegatex", query: "Action=PurgeQueue" });
    expect(wire.asked).toEqual([{ name: "purgeQueue", input: { queue: "_tidegatex" } }]);
  });

  test.each(["PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])(
    "of method %s names no action",
    async (method) => {
      const reply = await createWire().send({ method, query: "Action=ListQueues" });
      expect(reply.status).toBe(404);
      expect(reply.text).toContain("<UnknownOperationException/>");
    },
  );

  test("posted as neither form nor JSON has no action but that of its URL", async () => {
    const wire = createWire();
    const request = {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: Buffer.from("Action=ListQueues"),
    };
    expect((await wire.send(request)).status).toBe(404);
    expect((await wire.send({ ...request, query: "Action=ListQueues" })).status).toBe(200);
  });

  test("posted as a form may write that content type in any case", async () => {
    const headers = { "content-type": "Application/X-WWW-Form-URLencoded; charset=UTF-8" };
    const reply = await createWire().form({ Action: "ListQueues" }, { headers });
    expect(reply.status).toBe(200);
  });

  test("with a malformed Authorization header is answered all the same", async () => {
    const reply = await createWire().json(
      "ListQueues",
      {},
      { authorization: "AWS4-HMAC nonsense" },
    );
    expect(reply.status).toBe(200);
  });

  test("of any shape gets a well-formed response and affects no other request", async () => {
    const anyBody = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
      fc.constantFrom("Action=SendMessage&MessageBody=x", "{").map((text) => Buffer.from(text)),
    );
    const anyHeaders = fc.record(
      {
        "x-amz-target": fc.constantFrom("AmazonSQS.SendMessage", "AmazonSQS.", "x", ""),
        "content-type": fc.constantFrom("application/x-amz-json-1.0", "text/plain", "", "x"),
        accept: fc.constantFrom("application/json", "*/*"),
        host: fc.string(),
      },
      { requiredKeys: [] },
    );
    const anyRequest = fc.record({
      method: fc.constantFrom("GET", "POST", "PUT"),
      path: fc.oneof(fc.webPath(), fc.constantFrom("/", "", "/_tidegate/queues", "//", "/%")),
      query: fc.oneof(fc.webQueryParameters(), fc.constant("Action=CreateQueue&Tag.1=x&Tag..=y")),
      headers: anyHeaders,
      body: anyBody,
    });
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const wire = createWire();
        const reply = await wire.send(request);
        expect(wire.errors).toEqual([]);
        expect(reply.status).toBeGreaterThanOrEqual(200);
        expect(reply.status).toBeLessThan(500);
        if (reply.headers["content-type"]?.includes("json") && reply.text !== "") {
          expect(reply.value).toBeTypeOf("object");
        } else if (reply.text !== "") expect(reply.text).toMatch(/^<[\s\S]*>\s*$/);
      }),
      { numRuns: 500 },
    );
  });
});
