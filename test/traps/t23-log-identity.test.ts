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

onEveryLedger("T23: the log is append-only and its entries have names of their own", (fresh) => {
  test("a second status and a second attempt do not overwrite the first", async () => {
    const world = fresh();
    const look = async () => (await world.ledger.show(SCOPE, asRecordKey("a")))?.entries ?? [];
    const failed = fenceIn(await claimOne(world, "a"));
    await failOne(world, "a", failed);
    const before = await look();
    await claimOne(world, "a"); // This one crashes: started, and no more.
    world.clock.advance(seconds(30));
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    const entries = await look();
    expect(entries.slice(0, before.length)).toEqual(before);
    const names = entries.map(({ fence, seq }) => `${fence}/${seq}`);
    expect(new Set(names).size).toBe(names.length);
    expect(entries.map(({ status }) => status)).toEqual(
      "received started failed received started received started succeeded".split(" "),
    );
  });
});
