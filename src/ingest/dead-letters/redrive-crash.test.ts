// A redrive that crashes at every step, before and after its effect, and is run again.

import { describe, expect, test } from "vitest";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { listIn, redrivePorts, runRedrive } from "../../../test/support/dead-letter-world.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { RedrivePorts } from "./redrive.ts";

const STEPS = ["reopen", "sendBatch", "deleteBatch", "removeNotes"] as const;
type Step = (typeof STEPS)[number];
/** Dossiers of records that end between two polls are removed together. */
const CALLS = { reopen: [1, 2, 3], sendBatch: [1, 2, 3], deleteBatch: [1, 2, 3], removeNotes: [1] };
const CASES = STEPS.flatMap((step) =>
  (["before", "after"] as const).flatMap((when) =>
    CALLS[step].map((n) => [when, step, n] as const),
  ),
);
const KEYS = ["k0", "k1", "k2", "k3"];

/** Ports that crash at the `nth` call of `step`; every later call fails. */
function mortal(ports: RedrivePorts, when: "before" | "after", step: Step, nth: number) {
  let calls = 0;
  let dead = false;
  const guard = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(on, name) {
        const value = Reflect.get(on, name);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          if (dead) throw new Error("dead");
          const dies = name === step && ++calls === nth;
          dead ||= dies;
          if (dies && when === "before") throw new Error("dies before it");
          const result = await value.apply(on, args);
          if (dies) throw new Error("dies after it");
          return result;
        };
      },
    });
  const { ledger, source, deadLetters } = ports;
  return {
    ports: {
      ...ports,
      ledger: guard(ledger),
      source: guard(source),
      deadLetters: guard(deadLetters),
    },
    died: () => dead,
  };
}

async function parkAll(queue: string, applied: string[], broken: { yes: boolean }) {
  const world: ConsumerWorld = await createConsumerWorld({
    queue,
    pipeline: { onPoison: "skip" },
    handler: ({ envelope }) => {
      if (broken.yes) throw new PermanentError("no", { class: "schema" });
      applied.push(envelope.dedupe_key);
    },
  });
  for (const key of KEYS) await world.send(key);
  await world.consumer().start();
  await world.pass(3_000);
  return world;
}

describe.each(["work", "work.fifo"])("a redrive into %s that crashes", (queue) => {
  test.each(CASES)(
    "%s %s (%i) loses nothing, applies each record once and leaves no dossier",
    async (when, step, nth) => {
      const applied: string[] = [];
      const broken = { yes: true };
      await using world = await parkAll(queue, applied, broken);
      expect(await world.depth(world.deadLetters)).toBe(KEYS.length);
      broken.yes = false;
      const { ports, died } = mortal(redrivePorts(world), when, step, nth);
      await expect(runRedrive(world, {}, ports)).rejects.toThrow();
      expect(died()).toBe(true);
      await world.pass(130_000); // The messages that the crashed run received become visible again.
      const { summary } = await runRedrive(world);
      expect(summary).toMatchObject({ failedAgain: 0, missing: 0, waiting: 0, stopped: null });
      expect(applied.toSorted()).toEqual(KEYS);
      if (queue.endsWith(".fifo")) expect(applied).toEqual(KEYS);
      expect(await world.depth(world.deadLetters)).toBe(0);
      expect(await world.depth()).toBe(0);
      expect(await listIn(world, {}, "peek")).toEqual([]);
      const page = { after: null, limit: 10 };
      const scope = { pipeline: "test", generation: 0 };
      expect(await world.ledger.listNotes(scope, "dossier", page)).toEqual([]);
    },
  );
});
