import { describe, expect, test } from "vitest";
import { ManualClock } from "../../../../test/support/manual-clock.ts";
import { ACCOUNT, createWire } from "../../../../test/support/scripted-broker.ts";
import { TidegateError } from "../../../core/errors.ts";
import { succeed } from "../../../core/result.ts";
import { epochMs } from "../../../core/units.ts";
import { refuse } from "../../model/fault.ts";
import { ADMIN_ROUTES, type AdminClock } from "./admin.ts";

function fakeClock(): AdminClock {
  const clock = new ManualClock(1_000);
  return { now: clock.now, advance: async (span) => clock.advance(span) };
}

describe("GET /_tidegate/health", () => {
  test("reports that the server is up, with its version, account and region", async () => {
    const reply = await createWire({}, { version: "1.2.3" }).get("/_tidegate/health");
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(reply.value).toEqual({
      status: "ok",
      service: "tidegate",
      version: "1.2.3",
      account: ACCOUNT,
      region: "us-east-1",
      clock: "system",
    });
  });

  test("is 503 while the store fails, without calling the broker (H1)", async () => {
    const outage = { since: epochMs(0), reason: "no space", neededBytes: 9, freeBytes: 5 };
    const wire = createWire({ health: "failing", outage });
    const reply = await wire.get("/_tidegate/health");
    expect(reply.status).toBe(503);
    const store = {
      reason: "no space",
      since: "1970-01-01T00:00:00.000Z",
      neededBytes: 9,
      freeBytes: 5,
    };
    expect(reply.value).toMatchObject({ status: "failing", service: "tidegate", store });
    expect([wire.asked, wire.errors]).toEqual([[], []]);
  });
});

describe("GET /_tidegate/queues", () => {
  test("returns the message counts of the queues with a name prefix", async () => {
    const queue = {
      name: "q",
      fifo: false,
      visible: 1,
      delayed: 2,
      inFlight: 3,
      oldestSentAt: epochMs(5),
    };
    const wire = createWire({ countQueues: () => succeed({ queues: [queue] }) });
    expect((await wire.get("/_tidegate/queues?prefix=a%20b")).value).toEqual({ queues: [queue] });
    await wire.get("/_tidegate/queues");
    expect(wire.asked.map(({ input }) => input)).toEqual([{ prefix: "a b" }, { prefix: "" }]);
  });

  test("is 503 when the store fails, and reports the error to the operator", async () => {
    const error = new TidegateError("TG_STORE_UNAVAILABLE", "no disk");
    const wire = createWire({
      countQueues: () => {
        throw error;
      },
    });
    expect((await wire.get("/_tidegate/queues")).status).toBe(503);
    expect(wire.errors).toEqual([error]);
  });
});

describe("GET /_tidegate/queues/NAME/messages", () => {
  test("returns the messages of a queue in pages", async () => {
    const wire = createWire({ peek: () => succeed({ messages: [], nextAfterSeq: 7 }) });
    const reply = await wire.get("/_tidegate/queues/a.fifo/messages?after=3&limit=100");
    expect(reply.value).toEqual({ queue: "a.fifo", messages: [], nextAfter: 7 });
    await wire.get("/_tidegate/queues/a.fifo/messages");
    expect(wire.asked.map(({ input }) => input)).toEqual([
      { queue: "a.fifo", afterSeq: 3, limit: 100 },
      { queue: "a.fifo", afterSeq: 0, limit: 20 },
    ]);
  });

  test("is 404 for a queue that does not exist", async () => {
    const wire = createWire({ peek: () => refuse("QueueDoesNotExist", "none") });
    const reply = await wire.get("/_tidegate/queues/q/messages");
    expect(reply.status).toBe(404);
    expect(reply.value).toEqual({ error: { code: "QueueDoesNotExist", message: "none" } });
  });

  test.each(["limit=0", "limit=101", "limit=x", "limit=-1", "limit=1.5", "after=x", "after=-1"])(
    "refuses ?%s",
    async (query) => {
      const wire = createWire();
      const reply = await wire.get(`/_tidegate/queues/q/messages?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.value.error.message).toBeTypeOf("string");
      expect(wire.asked).toEqual([]);
    },
  );
});

describe("/_tidegate/clock", () => {
  const post = (wire: ReturnType<typeof createWire>, body: string, type = "application/json") =>
    wire.send({
      method: "POST",
      path: "/_tidegate/clock",
      headers: { "content-type": type },
      body: Buffer.from(body),
    });

  test("reads and advances virtual time", async () => {
    const wire = createWire({}, { virtualClock: fakeClock() });
    expect((await wire.get("/_tidegate/clock")).value).toEqual({ nowMs: 1_000 });
    expect((await post(wire, '{"advanceMs":300000}')).value).toEqual({ nowMs: 301_000 });
    expect((await wire.get("/_tidegate/clock")).value).toEqual({ nowMs: 301_000 });
  });

  test.each(["Application/JSON", "application/json ; charset=UTF-8"])(
    "takes the content type %s for JSON",
    async (type) => {
      const wire = createWire({}, { virtualClock: fakeClock() });
      expect((await post(wire, '{"advanceMs":1}', type)).status).toBe(200);
    },
  );

  test("is a conflict on the system clock, and explains how to start with a virtual one", async () => {
    for (const reply of [
      await createWire().get("/_tidegate/clock"),
      await post(createWire(), '{"advanceMs":1}'),
    ]) {
      expect(reply.status).toBe(409);
      expect(reply.value.error.message).toContain("--clock virtual");
    }
  });

  test.each([
    "",
    "{",
    "null",
    "[]",
    "{}",
    '{"advanceMs":-1}',
    '{"advanceMs":1.5}',
    '{"advanceMs":"1"}',
    '{"advanceMs":1e300}',
  ])("refuses to advance by %s and does not change the time", async (body) => {
    const clock = fakeClock();
    const reply = await post(createWire({}, { virtualClock: clock }), body);
    expect(reply.status).toBe(400);
    expect(clock.now()).toBe(1_000);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded"])(
    "is not advanced by a POST of %s, which any web page could send",
    async (type) => {
      const clock = fakeClock();
      const reply = await post(createWire({}, { virtualClock: clock }), '{"advanceMs":1}', type);
      expect(reply.status).toBe(415);
      expect(clock.now()).toBe(1_000);
    },
  );
});

describe("the admin API", () => {
  test("lists all routes in the reply to an unknown path", async () => {
    for (const path of ["/_tidegate", "/_tidegate/", "/_tidegate/nope", "/_tidegate/queues/q"]) {
      const reply = await createWire().get(path);
      expect(reply.status).toBe(404);
      for (const route of ADMIN_ROUTES) {
        expect(reply.value.error.message).toContain(`/_tidegate/${route.path}`);
      }
    }
  });

  test("names the methods that a path accepts", async () => {
    const reply = await createWire().send({ method: "DELETE", path: "/_tidegate/clock" });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe("GET, POST");
  });

  test.each([
    [{ path: "/_tidegate/queues/%zz/messages" }, 400],
    [{ path: "/_tidegate/health", headers: { "sec-fetch-site": "cross-site" } }, 403],
    [{ path: "/_tidegate/clock", bodyTooLarge: true }, 413],
  ])("refuses %o with %d", async (request, status) => {
    const reply = await createWire().send(request);
    expect(reply.status).toBe(status);
    expect(reply.value.error.message).toBeTypeOf("string");
  });
});
