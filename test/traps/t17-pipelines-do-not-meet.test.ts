import { expect, test } from "vitest";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { claimOne, commitOne, fenceIn, onEveryLedger, SCOPE } from "../support/traps/ledgers.ts";

onEveryLedger("T17: pipelines that share a ledger do not suppress each other", (fresh) => {
  test("a record that one pipeline committed is still new to another", async () => {
    const world = fresh();
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    const other = { pipeline: "invoices", generation: 1 };
    expect(await claimOne(world, "a", { scope: other })).toMatchObject({ kind: "claimed" });
    expect((await world.ledger.show(SCOPE, asRecordKey("a")))?.record.kind).toBe("committed");
  });

  test("an object state applied by one does not make the other's events stale", async () => {
    const world = fresh();
    const newer = { bucket: "in", key: "x", sequencer: "02" };
    await commitOne(world, "a", fenceIn(await claimOne(world, "a", { object: newer })), newer);
    const scope = { pipeline: "invoices", generation: 1 };
    const older = { ...newer, sequencer: "01" };
    expect(await claimOne(world, "b", { scope, object: older })).toMatchObject({ kind: "claimed" });
    expect(await claimOne(world, "b", { object: older })).toMatchObject({ kind: "stale" });
  });
});
