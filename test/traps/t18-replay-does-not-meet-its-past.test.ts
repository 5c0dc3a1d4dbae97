import { expect, test } from "vitest";
import { claimOne, commitOne, fenceIn, onEveryLedger } from "../support/traps/ledgers.ts";

onEveryLedger("T18: a replay runs in a generation of its own", (fresh) => {
  test("a record committed in an earlier generation is processed in the next one", async () => {
    const world = fresh();
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    const replay = { pipeline: "orders", generation: 2 };
    expect(await claimOne(world, "a", { scope: replay })).toMatchObject({ kind: "claimed" });
    expect(await claimOne(world, "a")).toMatchObject({ kind: "duplicate" });
  });
});
