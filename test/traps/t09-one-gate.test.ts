import { expect, test } from "vitest";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { claimOne, onEveryLedger, SCOPE, T0 } from "../support/traps/ledgers.ts";

onEveryLedger("T9: looking and taking are one step", (fresh) => {
  test("of many deliveries at once exactly one gets the record", async () => {
    const world = fresh();
    const owners = Array.from({ length: 20 }, (_, n) => `worker-${n}`);
    const results = await Promise.all(owners.map((owner) => claimOne(world, "a", { owner })));
    expect(results.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(results.filter(({ kind }) => kind === "busy")).toHaveLength(19);
  });

  test("of many direct commits at once exactly one is accepted", async () => {
    const { ledger } = fresh();
    const times = { input: ANY_INPUT, receivedAt: T0, startedAt: T0 };
    const commit = { key: asRecordKey("a"), owner: "w", ...times, digest: "d" };
    const results = await Promise.all(
      Array.from({ length: 20 }, () => ledger.commitDirect(SCOPE, [commit])),
    );
    const kinds = results.flat().map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "committed")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "duplicate")).toHaveLength(19);
  });
});
