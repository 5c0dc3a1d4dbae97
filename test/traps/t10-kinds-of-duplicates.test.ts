import { expect, test } from "vitest";
import { addMs, seconds } from "../../src/core/units.ts";
import {
  claimOne,
  commitOne,
  failOne,
  fenceIn,
  onEveryLedger,
  T0,
} from "../support/traps/ledgers.ts";

onEveryLedger("T10: the ledger tells which duplicates to acknowledge", (fresh) => {
  test("a duplicate of a committed record gets the result's digest", async () => {
    const world = fresh();
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    expect(await claimOne(world, "a")).toMatchObject({ kind: "duplicate", digest: "d" });
  });

  test("a duplicate of a record in progress gets the end of its lease, and is not counted", async () => {
    const world = fresh();
    const fence = fenceIn(await claimOne(world, "a"));
    for (let n = 0; n < 5; n += 1) {
      const busy = await claimOne(world, "a", { owner: "other" });
      expect(busy).toMatchObject({ kind: "busy", until: addMs(T0, seconds(30)) });
    }
    expect(await failOne(world, "a", fence)).toMatchObject({ attempts: 1 });
  });

  test("a duplicate of a dead-lettered record gets the reason and the fence", async () => {
    const world = fresh();
    const fence = fenceIn(await claimOne(world, "a"));
    await failOne(world, "a", fence, true);
    expect(await claimOne(world, "a")).toMatchObject({
      kind: "parked",
      fence,
      failure: { fingerprint: "f1" },
    });
  });
});
