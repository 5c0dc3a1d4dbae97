import { describe, expect, test } from "vitest";
import { createWire } from "../../../../test/support/scripted-broker.ts";
import { refuse } from "../../model/fault.ts";
import { readFaultSpecs } from "./fault-specs.ts";

const GOOD = { kind: "throttle", target: { queue: "*" }, probability: 1 };

describe("a fault", () => {
  test.each([
    [GOOD],
    [{ ...GOOD, seed: 0, count: 1, actions: ["SendMessage", "ReceiveMessage"] }],
    [{ kind: "delay", target: { topic: "t" }, probability: 0, delayMs: 900_000 }],
    [{ kind: "duplicate", target: { topic: "t.fifo" }, probability: 0.5 }],
    [{ kind: "delay", target: { queue: "q.fifo" }, probability: 0.5, delayMs: 1 }],
    [{ ...GOOD, target: { bucket: "b" }, actions: ["PutObject"] }],
    [[GOOD, GOOD]],
    [[]],
  ])("is accepted: %j", (value) => {
    expect(readFaultSpecs(value).ok).toBe(true);
  });

  test.each([
    [null, "fault: null is not an object"],
    ["throttle", 'fault: "throttle" is not an object'],
    [
      { ...GOOD, kind: "explode" },
      'fault.kind: unknown kind "explode"; use one of duplicate, reorder,',
    ],
    [{ ...GOOD, kind: "toString" }, 'unknown kind "toString"'],
    [{ ...GOOD, probability: 2 }, "fault.probability: 2 is not a number from 0 to 1"],
    [{ ...GOOD, probability: -0.1 }, "-0.1 is not a number from 0 to 1"],
    [{ ...GOOD, probability: "1" }, '"1" is not a number from 0 to 1'],
    [{ ...GOOD, probability: Number.NaN }, "is not a number from 0 to 1"],
    [{ kind: "throttle", target: { queue: "*" } }, "nothing is not a number from 0 to 1"],
    [{ ...GOOD, target: { table: "x" } }, 'fault.target: {"table":"x"} is not a target'],
    [{ ...GOOD, target: { queue: "a", topic: "b" } }, "is not a target"],
    [{ ...GOOD, target: { queue: "" } }, 'fault.target: {"queue":""} is not a target'],
    [{ ...GOOD, target: "queue" }, 'fault.target: "queue" is not a target'],
    [{ ...GOOD, seed: 1.5 }, "fault.seed: 1.5 is not a whole number"],
    [{ ...GOOD, count: 0 }, "fault.count: 0 is not a whole number from 1"],
    [{ ...GOOD, delayMs: 5 }, 'fault.delayMs: only kind "delay" has delayMs'],
    [{ ...GOOD, kind: "delay" }, "fault.delayMs: nothing is not a whole number from 1"],
    [{ ...GOOD, kind: "delay", delayMs: 900_001 }, "900001 is not a whole number"],
    [{ ...GOOD, actions: [] }, "fault.actions: [] is not a list"],
    [{ ...GOOD, actions: ["Publish"] }, 'unknown action "Publish" on a queue'],
    [
      { ...GOOD, kind: "duplicate", actions: ["SendMessage"] },
      "fault.actions: only faults of requests have actions",
    ],
    [
      { ...GOOD, kind: "reorder", target: { topic: "t" } },
      "reorder does not apply to a topic, only to queue",
    ],
    [{ ...GOOD, kind: "duplicate", target: { queue: "q.fifo" } }, "duplicate applies to standard"],
    [{ ...GOOD, kind: "reorder", target: { queue: "q.fifo" } }, "reorder applies to standard"],
    [{ ...GOOD, extra: 1 }, "fault.extra: unknown field"],
    [[GOOD, { ...GOOD, probability: 3 }], "faults[1].probability:"],
    [Array.from({ length: 101 }, () => GOOD), "101 faults; at most 100 are allowed"],
  ])("is refused: %j", (value, message) => {
    const read = readFaultSpecs(value);
    expect(read.ok ? [] : read.fault.join(" ")).toContain(message);
  });

  test("is rejected with all its problems together (F1)", () => {
    const read = readFaultSpecs([{ kind: "x", target: null, probability: 9 }, 4]);
    expect(read.ok ? [] : read.fault.map((problem) => problem.split(":")[0])).toEqual([
      "faults[0].kind",
      "faults[0].probability",
      "faults[0].target",
      "faults[1]",
    ]);
  });
});

describe("/_tidegate/faults", () => {
  const call = (wire: ReturnType<typeof createWire>, method: string, body = "") =>
    wire.send({
      method,
      path: "/_tidegate/faults",
      headers: { "content-type": "application/json" },
      body: Buffer.from(body),
    });

  test("adds faults, shows how often each fired, and clears them", async () => {
    const wire = createWire();
    expect((await call(wire, "GET")).value).toEqual({ faults: [] });
    const posted = await call(wire, "POST", JSON.stringify(GOOD));
    expect([posted.status, posted.value]).toEqual([
      200,
      { faults: [{ ...GOOD, seed: 1, fired: 0 }] },
    ]);
    const throttled = await wire.json("PurgeQueue", { QueueUrl: "http://h/000000000000/q" });
    expect([throttled.status, throttled.value.__type]).toEqual([
      403,
      "com.amazonaws.sqs#RequestThrottled",
    ]);
    expect((await call(wire, "GET")).value.faults).toMatchObject([{ fired: 1 }]);
    expect((await call(wire, "DELETE")).value).toEqual({ faults: [] });
    const done = await wire.json("PurgeQueue", { QueueUrl: "http://h/000000000000/q" });
    expect(done.status).toBe(200);
  });

  test("rejects an invalid fault with a message, and keeps the existing faults (F1)", async () => {
    const wire = createWire();
    await call(wire, "POST", JSON.stringify(GOOD));
    for (const body of ["", "{", "4", JSON.stringify([GOOD, { ...GOOD, probability: 2 }])]) {
      const reply = await call(wire, "POST", body);
      expect([reply.status, reply.value.error.code]).toEqual([400, "InvalidFault"]);
    }
    expect((await call(wire, "GET")).value.faults).toHaveLength(1);
  });

  test("rejects a fault for a queue that does not exist, and the whole request with it (F2)", async () => {
    const wire = createWire({ findQueue: () => refuse("QueueDoesNotExist", "none") });
    const body = JSON.stringify([GOOD, { ...GOOD, target: { queue: "ordres" } }]);
    const reply = await call(wire, "POST", body);
    expect([reply.status, reply.value.error.message]).toEqual([
      400,
      'queue "ordres" does not exist',
    ]);
    expect((await call(wire, "GET")).value).toEqual({ faults: [] });
  });

  test("appears in health while there are faults", async () => {
    const wire = createWire();
    await call(wire, "POST", JSON.stringify(GOOD));
    expect((await wire.get("/_tidegate/health")).value).toMatchObject({ faults: 1 });
    await call(wire, "DELETE");
    expect((await wire.get("/_tidegate/health")).value).not.toHaveProperty("faults");
  });
});
