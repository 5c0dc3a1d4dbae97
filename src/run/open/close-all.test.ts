import { expect, test } from "vitest";
import { closeAll } from "./close-all.ts";

test("every closer runs, last opened first, and the first failure is thrown afterwards (C1)", async () => {
  const closed: string[] = [];
  const closers = ["ledger", "sink", "bucket", "queue"].map((name) => async () => {
    closed.push(name);
    if (name === "bucket" || name === "sink") throw new Error(`${name} does not close`);
  });
  await expect(closeAll(closers)).rejects.toThrow("bucket does not close");
  expect(closed).toEqual(["queue", "bucket", "sink", "ledger"]);
});
