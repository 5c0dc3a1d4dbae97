import { expect, test } from "vitest";
import { durationMs, hours } from "../core/units.ts";
import { withDeadline } from "./request-deadline.ts";

/** A request that is never answered, and ends only when it is called off. */
const unanswered = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("AbortError")), { once: true });
  });

test("a request that is never answered is called off, and the error says why", async () => {
  const asked = withDeadline(unanswered, durationMs(1));
  await expect(asked).rejects.toThrow("no answer within 1 ms");
});

test("the caller's signal ends a request, at once if it had been given before", async () => {
  const stop = new AbortController();
  const asked = withDeadline(unanswered, hours(1), stop.signal);
  stop.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("AbortError");
  let seen: unknown = null;
  const ask = async (signal: AbortSignal) => {
    seen = signal.reason;
  };
  await withDeadline(ask, hours(1), stop.signal);
  expect(seen).toMatchObject({ message: "enough" });
});

test("an answer or a failure in time comes through as it is", async () => {
  expect(await withDeadline(async () => 7, hours(1))).toBe(7);
  const failing = withDeadline(() => Promise.reject(new Error("refused")), hours(1));
  await expect(failing).rejects.toThrow("refused");
});
