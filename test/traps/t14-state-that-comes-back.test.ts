import fc from "fast-check";
import { expect, test } from "vitest";
import type { TrapWorld } from "../support/traps/ledgers.ts";
import { claimOne, commitOne, onEveryLedger, SCOPE } from "../support/traps/ledgers.ts";

/** PUT A, PUT B, PUT A: events 1 and 3 have the same object state and so the same key. */
const EVENTS = [
  { state: "A", sequencer: "0055AED6DCD90281E5" },
  { state: "B", sequencer: "0055AED6DCD90281E6" },
  { state: "A", sequencer: "0055AED6DCD90281E7" },
] as const;

type Event = (typeof EVENTS)[number];
const objectOf = ({ sequencer }: Event) => ({ bucket: "in", key: "x.csv", sequencer });

async function handle(world: TrapWorld, event: Event, applied: string[]): Promise<void> {
  const object = objectOf(event);
  const claim = await claimOne(world, event.state, { object });
  if (claim.kind !== "claimed") return;
  const answer = await commitOne(world, event.state, claim.fence, object);
  if (answer === "committed") applied.push(event.state);
}

onEveryLedger("T14: PUT A, PUT B, PUT A ends in A", (fresh) => {
  test("in any order and with any duplicates of the three", async () => {
    const deliveries = fc
      .array(fc.nat(2), { maxLength: 6 })
      .chain((more) => fc.shuffledSubarray([0, 1, 2, ...more], { minLength: 3 + more.length }));
    await fc.assert(
      fc.asyncProperty(deliveries, async (order) => {
        const world = fresh();
        const applied: string[] = [];
        for (const n of order) await handle(world, EVENTS[n] ?? EVENTS[0], applied);
        expect(applied.at(-1)).toBe("A");
        const object = await world.ledger.showObject(SCOPE, "in", "x.csv");
        expect(object).toMatchObject({ appliedKey: "A", sequencer: EVENTS[2].sequencer });
      }),
      { numRuns: 50 },
    );
  });

  test("even when B is in progress while the last A is applied", async () => {
    const world = fresh();
    const applied: string[] = [];
    await handle(world, EVENTS[0], applied);
    const slow = await claimOne(world, "B", { object: objectOf(EVENTS[1]) });
    await handle(world, EVENTS[2], applied);
    if (slow.kind !== "claimed") throw new Error("B was not claimed");
    expect(await commitOne(world, "B", slow.fence, objectOf(EVENTS[1]))).toBe("superseded");
    expect(applied).toEqual(["A"]);
  });
});
