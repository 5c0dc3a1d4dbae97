import { expect, test } from "vitest";
import { TidegateError } from "../core/errors.ts";
import { createStoreGuard } from "./store-guard.ts";

function storeOf() {
  const calls: string[] = [];
  const { guard, close } = createStoreGuard({
    name: "ledger",
    faultOf: (cause) => new TidegateError("TG_LEDGER_UNAVAILABLE", "down", { cause }),
    release: async () => void calls.push("released"),
  });
  return { calls, guard, close };
}

test("after close every call fails, and the store is closed once (G1)", async () => {
  const { calls, guard, close } = storeOf();
  expect(await guard(async () => 7)).toBe(7);
  await close();
  await close();
  expect(calls).toEqual(["released"]);
  const late = guard(async () => calls.push("called"));
  await expect(late).rejects.toMatchObject({ code: "TG_CLOSED", message: "the ledger is closed" });
  expect(calls).toEqual(["released"]);
});

test("a failure is thrown as its TidegateError (G2)", async () => {
  const cause = new Error("no route");
  const failing = storeOf().guard(() => Promise.reject(cause));
  await expect(failing).rejects.toMatchObject({ code: "TG_LEDGER_UNAVAILABLE", cause });
});
