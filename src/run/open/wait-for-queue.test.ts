import { expect, test } from "vitest";
import { TidegateError } from "../../core/errors.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { waitForLedger, waitForQueue } from "./wait-for-queue.ts";

/** Each call of `open` meets the next error, and then a queue that answers. */
function setUp(...errors: readonly unknown[]) {
  const waits: number[] = [];
  const lines: string[] = [];
  let closed = 0;
  const remaining = [...errors];
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  const opened = {
    close: async () => {
      closed += 1;
    },
  };
  const open = async () => {
    if (remaining.length > 0) throw remaining.shift();
    return opened;
  };
  const log = (_level: string, message: string) => void lines.push(message);
  return { ports: { clock, log }, open, opened, waits, lines, closed: () => closed };
}

const silence = (cause?: unknown) =>
  new TidegateError("TG_QUEUE_UNAVAILABLE", "q: ECONNREFUSED", { cause });

test("a queue that does not answer is retried with growing waits and one line each (W2)", async () => {
  const { ports, open, opened, waits, lines } = setUp(
    ...Array.from({ length: 7 }, () => silence()),
  );
  expect(await waitForQueue(ports, open, { queue: "q" })).toBe(opened);
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(lines).toHaveLength(7);
  expect(lines[1]).toBe("queue q does not answer, retrying in 2 s");
});

test.each([
  ["a refusal", new TidegateError("TG_QUEUE_REFUSED", "q: QueueDoesNotExist")],
  ["a wrong setting", new TidegateError("TG_CONFIG_INVALID", "no region")],
  [
    "missing credentials",
    silence(Object.assign(new Error(), { name: "CredentialsProviderError" })),
  ],
  ["an endpoint that is not a URL", silence(new TypeError("Invalid URL"))],
  ["a bug", new Error("bug")],
])("%s is not retried (W1)", async (_what, error) => {
  const { ports, open, lines } = setUp(error);
  await expect(waitForQueue(ports, open, { queue: "q" })).rejects.toBe(error);
  expect(lines).toEqual([]);
});

const databaseFault = (code: string) =>
  new TidegateError("TG_LEDGER_UNAVAILABLE", code, { cause: Object.assign(new Error(), { code }) });

test("a ledger whose server is starting, or not up yet, is retried (W1)", async () => {
  const several = new AggregateError([{ code: "ECONNREFUSED" }, { code: "ECONNREFUSED" }]);
  const { ports, open, opened, lines } = setUp(
    databaseFault("ECONNREFUSED"),
    new TidegateError("TG_LEDGER_UNAVAILABLE", "refused", { cause: several }),
    databaseFault("57P03"),
  );
  expect(await waitForLedger(ports, open, undefined)).toBe(opened);
  expect(lines[0]).toBe("the ledger's database does not answer, retrying in 1 s");
  expect(lines).toHaveLength(3);
});

test.each([
  ["a wrong password", "28P01"],
  ["a missing database", "3D000"],
  ["an unknown host", "ENOTFOUND"],
])("%s is not retried (W1)", async (_what, code) => {
  const error = databaseFault(code);
  const { ports, open, lines } = setUp(error);
  await expect(waitForLedger(ports, open, undefined)).rejects.toBe(error);
  expect(lines).toEqual([]);
});

test("an abort ends the wait during an attempt, and closes what opens later (W3)", async () => {
  const { ports, opened, closed } = setUp();
  const stopping = new AbortController();
  const later = Promise.withResolvers<typeof opened>();
  const waiting = waitForQueue(ports, () => later.promise, { queue: "q", signal: stopping.signal });
  stopping.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  later.resolve(opened);
  await expect.poll(closed).toBe(1);
});
