// What opens the circuit breaker of a consumer, and what does not.

import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { TidegateError } from "../../core/errors.ts";

const RETRY = { attempts: 20, baseMs: 1_000, capMs: 5_000 };
const answered = (status: number) => Object.assign(new Error(`status ${status}`), { status });
const refused = () => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

test.each<[string, () => Error]>([
  ["503", () => answered(503)],
  ["429", () => answered(429)],
  ["a refused connection", refused],
  ["an outbox that is down", () => new TidegateError("TG_OUTBOX_UNAVAILABLE", "down")],
])("handlers that get %s from a service never open the breaker", async (_, error) => {
  const handled: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: { retry: RETRY },
    handler: ({ envelope: { dedupe_key: key } }) => {
      if (key.startsWith("bad")) throw error();
      handled.push(key);
    },
  });
  const consumer = world.consumer();
  for (let at = 0; at < 10; at += 1) await world.send(`bad${at}`);
  await consumer.start();
  await world.pass(10_000);
  await world.send("good");
  await world.pass(1_000);
  expect(handled).toEqual(["good"]);
  expect(consumer.snapshot()).toMatchObject({ breaker: "closed", committed: 1 });
  expect(consumer.snapshot().retried).toBeGreaterThan(10);
});

test("a ledger that does not answer opens the breaker, and its log line names it", async () => {
  let down = false;
  await using world = await createConsumerWorld({ pipeline: { retry: RETRY, lease: "ledger" } });
  const { ledger } = world;
  const claim: typeof ledger.claim = async (...args) => {
    if (down) throw new TidegateError("TG_LEDGER_UNAVAILABLE", "no answer within 5 s");
    return ledger.claim(...args);
  };
  const consumer = world.consumer("one", { ledger: { ...ledger, claim } });
  await consumer.start();
  down = true;
  for (let at = 0; at < 10; at += 1) await world.send(`k${at}`);
  await world.pass(3_000);
  expect(consumer.snapshot().breaker).not.toBe("closed");
  const messages = world.logs.map(({ message }) => message);
  expect(messages).toContainEqual(
    expect.stringMatching(/^the ledger is down, receiving is paused; .*no answer within 5 s/),
  );
  down = false;
  await world.pass(120_000);
  expect(consumer.snapshot()).toMatchObject({ breaker: "closed", committed: 10 });
});
