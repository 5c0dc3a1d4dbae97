// T24: parking, sending the dead letter, writing that down and acknowledging are four steps, and a
// process may die between any two. Whatever it does, all readers see one dead letter and never none.

import { expect, test } from "vitest";
import { PermanentError } from "../../src/ingest/handler-errors.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { listIn, runRedrive, SCOPE } from "../support/dead-letter-world.ts";

const STEPS = ["fail", "sendBatch", "addNotes", "deleteBatch"] as const;
type Step = (typeof STEPS)[number];
const CASES = ["work", "work.fifo"].flatMap((queue) =>
  STEPS.flatMap((step) =>
    (["before", "after"] as const).map((when) => [queue, when, step] as const),
  ),
);

/** Dies once, at that step; the process that lives on afterwards is another one. */
function createDeath(when: "before" | "after", step: Step) {
  let alive = true;
  let dead = 0;
  const around = <T extends object>(target: T, names: readonly string[]): T =>
    new Proxy(target, {
      get(on, name) {
        const value = Reflect.get(on, name);
        if (typeof value !== "function" || !names.includes(String(name))) return value;
        return async (...args: unknown[]) => {
          if (!alive) return new Promise(() => undefined); // Nothing comes from the dead.
          const dies = name === step && dead === 0;
          if (dies) dead += 1;
          if (dies && when === "before") alive = false;
          if (!alive) return new Promise(() => undefined);
          const result = await value.apply(on, args);
          if (dies) alive = false;
          return alive ? result : new Promise(() => undefined);
        };
      },
    });
  return {
    around,
    died: () => dead > 0,
    reborn: () => {
      alive = true;
    },
  };
}

test.each(CASES)(
  "T24: %s, dying %s %s: one dead letter, seen by all",
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
      ledger: ({ clock }): Ledger =>
        death.around(createMemoryLedger({ clock }), ["fail", "addNotes", "claim", "renew"]),
      wrapQueue: (each): Queue =>
        death.around(each, ["deleteBatch", "receive", "changeVisibility"]),
      wrapDeadLetters: (each): Queue => death.around(each, ["sendBatch"]),
    });
    await world.send("k", { a: 1 });
    await world.consumer("first").start();
    await world.pass(5_000);
    expect(death.died()).toBe(true);
    death.reborn();
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
