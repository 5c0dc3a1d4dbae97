import { expect, test } from "vitest";
import { seconds } from "../../src/core/units.ts";
import { claimOne, commitOne, fenceIn, onEveryLedger } from "../support/traps/ledgers.ts";

onEveryLedger("T3: a claim has an owner, a lease and an end", (fresh) => {
  test("a crashed holder blocks its record no longer than its lease", async () => {
    const world = fresh();
    const dead = fenceIn(await claimOne(world, "a", { owner: "crashed" }));
    expect(await claimOne(world, "a", { owner: "next" })).toMatchObject({
      kind: "busy",
      owner: "crashed",
    });
    world.clock.advance(seconds(30));
    const claimed = fenceIn(await claimOne(world, "a", { owner: "next" }));
    expect(claimed).toBeGreaterThan(dead);
    expect(await commitOne(world, "a", claimed)).toBe("committed");
  });

  test("a holder that only seemed dead cannot commit a record that another took over", async () => {
    const world = fresh();
    const slow = fenceIn(await claimOne(world, "a"));
    world.clock.advance(seconds(31));
    const claimed = fenceIn(await claimOne(world, "a", { owner: "next" }));
    expect(await commitOne(world, "a", slow)).toBe("fenced");
    expect(await commitOne(world, "a", claimed)).toBe("committed");
    expect(await commitOne(world, "a", slow)).toBe("fenced");
  });
});
