import { expect, test } from "vitest";
import { postgresLedgerFault, postgresOutboxFault } from "./faults.ts";
import { LOST, type Raced, untilWon } from "./transaction.ts";

const deadlock = Object.assign(new Error("deadlock detected"), { code: "40P01" });

/** Work that loses `times` races, by its own account and by the server's in turn, and then wins. */
function losing(times: number) {
  let tries = 0;
  const work = async (): Promise<Raced<number>> => {
    tries += 1;
    if (tries > times) return tries;
    if (tries % 2 === 0) throw deadlock;
    return LOST;
  };
  return { work, tries: () => tries };
}

test("work that lost a race is run again until it wins (T1)", async () => {
  expect(await untilWon("a batch", losing(0).work)).toBe(1);
  expect(await untilWon("a batch", losing(15).work)).toBe(16);
});

test("work that only loses ends as a store that cannot be used now (T1)", async () => {
  const { work, tries } = losing(1_000);
  const failure = await untilWon("a batch", work).catch((error: unknown) => error);
  expect(tries()).toBe(16);
  const message = expect.stringContaining("a batch lost 16 races for the same rows");
  expect(postgresLedgerFault(failure)).toMatchObject({ code: "TG_LEDGER_UNAVAILABLE", message });
  expect(postgresOutboxFault(failure)).toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE", message });
});

test("a failure that is no race is told at once", async () => {
  let tries = 0;
  const failing = untilWon("a batch", async () => {
    tries += 1;
    throw new Error("connection ended");
  });
  await expect(failing).rejects.toThrow("connection ended");
  expect(tries).toBe(1);
});
