import { expect, test } from "vitest";
import { postgresLedgerFault, postgresOutboxFault } from "./faults.ts";
import { CONFLICT, type OrConflict, retryConflicts } from "./transaction.ts";

const deadlock = Object.assign(new Error("deadlock detected"), { code: "40P01" });

/** Work with `times` conflicts, reported by itself and by the server in turn, which then succeeds. */
function losing(times: number) {
  let tries = 0;
  const work = async (): Promise<OrConflict<number>> => {
    tries += 1;
    if (tries > times) return tries;
    if (tries % 2 === 0) throw deadlock;
    return CONFLICT;
  };
  return { work, tries: () => tries };
}

test("work that meets a write conflict is run again until it succeeds (T1)", async () => {
  expect(await retryConflicts("batch", losing(0).work)).toBe(1);
  expect(await retryConflicts("batch", losing(15).work)).toBe(16);
});

test("work that only meets conflicts fails as an unavailable store (T1)", async () => {
  const { work, tries } = losing(1_000);
  const failure = await retryConflicts("batch", work).catch((error: unknown) => error);
  expect(tries()).toBe(16);
  const message = expect.stringContaining("batch contention: gave up after 16 write conflicts");
  expect(postgresLedgerFault(failure)).toMatchObject({ code: "TG_LEDGER_UNAVAILABLE", message });
  expect(postgresOutboxFault(failure)).toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE", message });
});

test("any other failure is thrown immediately", async () => {
  let tries = 0;
  const failing = retryConflicts("batch", async () => {
    tries += 1;
    throw new Error("connection ended");
  });
  await expect(failing).rejects.toThrow("connection ended");
  expect(tries).toBe(1);
});
