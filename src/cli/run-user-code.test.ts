import { expect, test } from "vitest";
import { withLimit } from "./run-user-code.ts";

test("a call returns its result or error, and one that never ends is reported (J2)", async () => {
  const limited = (call: (text: string) => unknown, limitMs: number) => withLimit(call, limitMs);
  expect(await limited((text) => `${text}!`, 60_000)("done")).toBe("done!");
  expect(await limited(async (text) => text, 60_000)("later")).toBe("later");
  const failing = limited(() => Promise.reject(new Error("no route")), 60_000);
  await expect(failing("x")).rejects.toThrow("no route");
  const hanging = limited(() => new Promise(() => {}), 5);
  await expect(hanging("x")).rejects.toThrow("it did not end within 0.005 seconds");
});
