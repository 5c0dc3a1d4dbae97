import { describe, expect, test } from "vitest";
import { createWire } from "../../../../test/support/scripted-broker.ts";
import { refuse } from "../../model/fault.ts";
import { readFaultSpecs } from "./fault-specs.ts";

const GOOD = { kind: "throttle", target: { queue: "*" }, probability: 1 };

describe("a fault that is asked for", () => {
  test.each([
    [GOOD],
    [{ ...GOOD, seed: 0, count: 1, actions: ["SendMessage", "ReceiveMessage"] }],
    [{ kind: "delay", target: { topic: "t" }, probability: 0, delayMs: 900_000 }],
    [{ kind: "duplicate", target: { topic: "t.fifo" }, probability: 0.5 }],
    [{ kind: "delay", target: { queue: "q.fifo" }, probability: 0.5, delayMs: 1 }],
    [{ ...GOOD, target: { bucket: "b" }, actions: ["PutObject"] }],
    [[GOOD, GOOD]],
    [[]],
  ])("is taken: %j", (value) => {
    expect(readFaultSpecs(value).ok).toBe(true);
  });

  test.each([
    [null, "fault: A fault is an object."],
    ["throttle", "fault: A fault is an object."],
    [{ ...GOOD, kind: "explode" }, "fault.kind: The kind is one of duplicate, reorder,"],
    [{ ...GOOD, kind: "toString" }, 'not "toString"'],
    [{ ...GOOD, probability: 2 }, "fault.probability: The probability is a number from 0 to 1"],
    [{ ...GOOD, probability: -0.1 }, "from 0 to 1, not -0.1."],
    [{ ...GOOD, probability: "1" }, 'from 0 to 1, not "1".'],
    [{ ...GOOD, probability: Number.NaN }, "from 0 to 1, not"],
    [{ kind: "throttle", target: { queue: "*" } }, "from 0 to 1, not nothing."],
    [{ ...GOOD, target: { table: "x" } }, "fault.target: The target is one of"],
    [{ ...GOOD, target: { queue: "a", topic: "b" } }, "fault.target: The target is one of"],
    [{ ...GOOD, target: { queue: "" } }, "fault.target: The target is one of"],
    [{ ...GOOD, target: "queue" }, "fault.target: The target is one of"],
    [{ ...GOOD, seed: 1.5 }, "fault.seed: The seed is a whole number, not 1.5."],
    [{ ...GOOD, count: 0 }, "fault.count: The count is a whole number from 1"],
    [{ ...GOOD, delayMs: 5 }, 'fault.delayMs: delayMs goes with "delay" only'],
    [{ ...GOOD, kind: "delay" }, "fault.delayMs: A delay needs delayMs"],
    [{ ...GOOD, kind: "delay", delayMs: 900_001 }, "not 900001."],
    [{ ...GOOD, actions: [] }, "fault.actions: actions is a list"],
    [{ ...GOOD, actions: ["Publish"] }, 'There is no action "Publish" on a queue.'],
    [{ ...GOOD, kind: "duplicate", actions: ["SendMessage"] }, "fault.actions: actions go with"],
    [{ ...GOOD, kind: "reorder", target: { topic: "t" } }, "reorder is for queue only"],
    [{ ...GOOD, kind: "duplicate", target: { queue: "q.fifo" } }, "duplicate is for standard"],
    [{ ...GOOD, kind: "reorder", target: { queue: "q.fifo" } }, "reorder is for standard"],
    [{ ...GOOD, extra: 1 }, "fault.extra: There is no such field"],
    [[GOOD, { ...GOOD, probability: 3 }], "faults[1].probability:"],
    [Array.from({ length: 101 }, () => GOOD), "There are more than 100 faults."],
  ])("is refused: %j", (value, told) => {
    const read = readFaultSpecs(value);
    expect(read.ok ? [] : read.fault.join(" ")).toContain(told);
  });

  test("has all that is wrong with it told at once (F1)", () => {
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

  test("takes faults, shows them with how often they struck, and clears them", async () => {
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

  test("refuses what is no fault with a sentence, and keeps what was there (F1)", async () => {
    const wire = createWire();
    await call(wire, "POST", JSON.stringify(GOOD));
    for (const body of ["", "{", "4", JSON.stringify([GOOD, { ...GOOD, probability: 2 }])]) {
      const reply = await call(wire, "POST", body);
      expect([reply.status, reply.value.error.code]).toEqual([400, "InvalidFault"]);
    }
    expect((await call(wire, "GET")).value.faults).toHaveLength(1);
  });

  test("refuses a fault for what does not exist, and all that came with it (F2)", async () => {
    const wire = createWire({ findQueue: () => refuse("QueueDoesNotExist", "none") });
    const body = JSON.stringify([GOOD, { ...GOOD, target: { queue: "ordres" } }]);
    const reply = await call(wire, "POST", body);
    expect([reply.status, reply.value.error.message]).toEqual([
      400,
      'There is no queue named "ordres".',
    ]);
    expect((await call(wire, "GET")).value).toEqual({ faults: [] });
  });

  test("is told by health while any fault is there", async () => {
    const wire = createWire();
    await call(wire, "POST", JSON.stringify(GOOD));
    expect((await wire.get("/_tidegate/health")).value).toMatchObject({ faults: 1 });
    await call(wire, "DELETE");
    expect((await wire.get("/_tidegate/health")).value).not.toHaveProperty("faults");
  });
});
