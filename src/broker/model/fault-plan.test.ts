import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FaultPlan, type FaultSpec } from "./fault-plan.ts";

const SPEC: FaultSpec = { kind: "duplicate", target: { queue: "*" }, probability: 0.5, seed: 7 };

function planOf(...specs: FaultSpec[]): FaultPlan {
  const plan = new FaultPlan();
  for (const spec of specs) plan.put(spec);
  return plan;
}

function firingsOf(plan: FaultPlan, name: string, count: number): boolean[] {
  return Array.from({ length: count }, () => plan.fires("duplicate", "queue", name) !== null);
}

describe("the random stream of a fault (L1)", () => {
  test("is the same for the same seed, and differs for another", () => {
    const first = firingsOf(planOf(SPEC), "a", 64);
    expect(firingsOf(planOf(SPEC), "a", 64)).toEqual(first);
    expect(firingsOf(planOf({ ...SPEC, seed: 8 }), "a", 64)).not.toEqual(first);
    expect(new Set(first)).toEqual(new Set([true, false]));
  });

  test("does not depend on other queues or other faults", () => {
    const alone = firingsOf(planOf(SPEC), "a", 32);
    fc.assert(
      fc.property(fc.array(fc.constantFrom("b", "c"), { maxLength: 40 }), (others) => {
        const plan = planOf({ ...SPEC, target: { queue: "b" }, probability: 1 }, SPEC);
        plan.put({ ...SPEC, kind: "reorder", probability: 1 });
        const firings = alone.map((_, index) => {
          const other = others[index];
          if (other !== undefined) plan.fires("duplicate", "queue", other);
          plan.fires("reorder", "queue", "a");
          return plan.fires("duplicate", "queue", "a") !== null;
        });
        expect(firings).toEqual(alone);
      }),
      { numRuns: 30 },
    );
  });

  test("never fires at 0 and always fires at 1", () => {
    expect(firingsOf(planOf({ ...SPEC, probability: 0 }), "a", 100)).not.toContain(true);
    expect(firingsOf(planOf({ ...SPEC, probability: 1 }), "a", 100)).not.toContain(false);
  });

  test("fires about as often as the probability says", () => {
    const fired = firingsOf(planOf({ ...SPEC, probability: 0.3 }), "a", 10_000).filter(Boolean);
    expect(fired.length).toBeGreaterThan(2_700);
    expect(fired.length).toBeLessThan(3_300);
  });

  test("works for more names than have their own stream", () => {
    const plan = planOf({ ...SPEC, probability: 1 });
    for (let name = 0; name < 10_100; name += 1) {
      expect(plan.fires("duplicate", "queue", `q${name}`)).not.toBeNull();
    }
  });
});

describe("a plan", () => {
  test("hits the target of a fault, and nothing else", () => {
    const plan = planOf({
      kind: "throttle",
      target: { topic: "t" },
      probability: 1,
      actions: ["Publish"],
    });
    expect(plan.fires("throttle", "topic", "t", ["Publish"])).not.toBeNull();
    expect(plan.fires("throttle", "topic", "t", ["Subscribe"])).toBeNull();
    expect(plan.fires("throttle", "topic", "u", ["Publish"])).toBeNull();
    expect(plan.fires("throttle", "queue", "t", ["Publish"])).toBeNull();
    expect(plan.fires("unavailable", "topic", "t", ["Publish"])).toBeNull();
    expect(plan.view()).toMatchObject([{ fired: 1, seed: 1 }]);
  });

  test("stops a fault that has fired `count` times", () => {
    const plan = planOf({ ...SPEC, probability: 1, count: 3 });
    expect(firingsOf(plan, "a", 5)).toEqual([true, true, true, false, false]);
    expect(plan.view()[0]?.fired).toBe(3);
  });

  test("replaces a fault of the same kind, target and actions, and adds any other", () => {
    const plan = planOf({ ...SPEC, probability: 1 });
    firingsOf(plan, "a", 2);
    plan.put({ ...SPEC, probability: 0.1 });
    plan.put({ ...SPEC, target: { queue: "a" } });
    expect(plan.view()).toMatchObject([
      { probability: 0.1, fired: 0 },
      { target: { queue: "a" }, fired: 0 },
    ]);
  });

  test("is inactive from the start and once cleared", () => {
    const plan = new FaultPlan();
    expect(plan.active).toBe(false);
    plan.put(SPEC);
    expect([plan.active, plan.size]).toEqual([true, 1]);
    plan.clear();
    expect([plan.active, plan.view()]).toEqual([false, []]);
  });
});
