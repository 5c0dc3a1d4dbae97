import { expect, test } from "vitest";
import { seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import {
  claimOne,
  commitOne,
  failOne,
  fenceIn,
  onEveryLedger,
  SCOPE,
} from "../support/traps/ledgers.ts";

onEveryLedger("T4: failed is not the end", (fresh) => {
  test("a redelivery of a failed record runs again, and its attempts are counted", async () => {
    const world = fresh();
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const claim = await claimOne(world, "a");
      expect(claim).toMatchObject({ kind: "claimed", attempt });
      expect(await failOne(world, "a", fenceIn(claim))).toMatchObject({ attempts: attempt });
    }
    const last = await claimOne(world, "a");
    expect(last).toMatchObject({ attempt: 4 });
    expect(await commitOne(world, "a", fenceIn(last))).toBe("committed");
  });

  test("a crash counts as an attempt, like a failure", async () => {
    const world = fresh();
    await claimOne(world, "a");
    world.clock.advance(seconds(30));
    expect(await claimOne(world, "a")).toMatchObject({ kind: "claimed", attempt: 2 });
  });

  test("only a permanent failure parks a record, and a reopened one may run again", async () => {
    const world = fresh();
    await failOne(world, "a", fenceIn(await claimOne(world, "a")), true);
    expect(await claimOne(world, "a")).toMatchObject({ kind: "parked" });
    await world.ledger.reopen(SCOPE, [asRecordKey("a")]);
    expect(await claimOne(world, "a")).toMatchObject({ kind: "claimed" });
  });
});
