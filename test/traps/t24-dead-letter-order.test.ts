// T24: parking, sending the dead letter, recording that and acknowledging are four steps, and a
// process may crash between any two. Even then every reader sees one dead letter, and never none.

import { expect, test } from "vitest";
import { PermanentError } from "../../src/ingest/spec/handler-errors.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { listIn, runRedrive, SCOPE } from "../support/dead-letter-world.ts";

const STEPS = ["fail", "sendBatch", "addNotes", "deleteBatch"] as const;
type Step = (typeof STEPS)[number];
const CASES = ["work", "work.fifo"].flatMap((queue) =>
  STEPS.flatMap((step) =>
    (["before", "after"] as const).map((when) => [queue, when, step] as const),
  ),
);

/** Ports of a process that dies at that step: no later call is answered. */
function createDeath(when: "before" | "after", step: Step) {
  let alive = true;
  const never = new Promise<never>(() => undefined);
  const around = <T extends object>(target: T, mayDie: boolean): T =>
    new Proxy(target, {
      get(on, name) {
        const value = Reflect.get(on, name);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          const dies = alive && mayDie && name === step;
          if (dies && when === "before") alive = false;
          if (!alive) return never;
          const result = await value.apply(on, args);
          if (dies) alive = false;
          return alive ? result : never;
        };
      },
    });
  return { around, died: () => !alive };
}

test.each(CASES)(
  "T24: %s, crashing %s %s: one dead letter, seen by all",
  async (queue, when, step) => {
    const death = createDeath(when, step);
    let handled = 0;
    let broken = true;
    await using world = await createConsumerWorld({
      queue,
      pipeline: { onPoison: "skip", visibilityMs: 10_000 },
      handler: () => {
        handled += 1;
        if (broken) throw new PermanentError("no", { class: "schema" });
      },
    });
    await world.send("k", { a: 1 });
    const { ledger, deadLetters } = world;
    const mortal = {
      ledger: death.around(ledger, true),
      queue: death.around(world.queue, step === "deleteBatch"),
      deadLetters: death.around(deadLetters, step === "sendBatch"),
    };
    await world.consumer("first", mortal).start();
    await world.pass(5_000);
    expect(death.died()).toBe(true);
    await world.consumer("second").start();
    await world.pass(120_000);
    expect(await world.depth()).toBe(0);

    const listed = await listIn(world, {}, "peek");
    expect(listed).toHaveLength(1);
    expect(listed[0]?.state).toBe("parked");
    expect(listed[0]?.dossier?.dead_letter).not.toBeNull();
    expect(listed[0]?.copies).toBeGreaterThanOrEqual(1);
    if (queue.endsWith(".fifo")) expect(listed[0]?.copies).toBe(1);

    broken = false;
    const before = handled;
    const { summary } = await runRedrive(world);
    expect(summary).toMatchObject({ sent: 1, committed: 1, missing: 0 });
    expect(handled).toBe(before + 1);
    expect(await world.depth(world.deadLetters)).toBe(0);
    const page = { after: null, limit: 10 };
    expect(await world.ledger.listNotes(SCOPE, "dossier", page)).toEqual([]);
  },
);
