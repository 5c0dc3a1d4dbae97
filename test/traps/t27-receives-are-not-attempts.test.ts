import { expect, test } from "vitest";
import { days, durationMs, seconds } from "../../src/core/units.ts";
import { receivesLeast } from "../../src/doctor/rules/dead-letter-rules.ts";
import { startFindings } from "../../src/doctor/start-check.ts";
import { DEFAULTS } from "../../src/ingest/spec/define-pipeline.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { claimOne, failOne, fenceIn, onEveryLedger } from "../support/traps/ledgers.ts";

const ARN = "arn:aws:sqs:eu-west-1:000000000000:orders";

function findings(maxReceiveCount: number, type: "standard" | "fifo" = "standard") {
  const suffix = type === "fifo" ? ".fifo" : "";
  const facts = { visibilityMs: seconds(60), waitMs: seconds(20), redrive: null };
  const dead = { ...facts, arn: `${ARN}-dead${suffix}`, retentionMs: days(14) };
  return startFindings({
    queue: {
      ...facts,
      name: `orders${suffix}`,
      fifo: type === "fifo",
      arn: `${ARN}${suffix}`,
      retentionMs: days(4),
      redrive: { deadLetterArn: dead.arn, maxReceiveCount },
    },
    deadLetters: dead,
    pipeline: { ...DEFAULTS, onPoison: "halt" },
  });
}

onEveryLedger("T27: receives are not attempts", (fresh) => {
  test("with a duplicate delivered at every attempt, receives are twice the attempts", async () => {
    const world = fresh();
    let receives = 0;
    let attempts = 0;
    while (attempts < DEFAULTS.attempts) {
      const fence = fenceIn(await claimOne(world, "a"));
      await claimOne(world, "a", { owner: "other" });
      receives += 2;
      const failed = await failOne(world, "a", fence);
      if (failed?.kind !== "failed") throw new Error(`it is ${failed?.kind}`);
      attempts = failed.attempts;
    }
    expect(receives).toBe(2 * DEFAULTS.attempts);
    expect(receives).toBeLessThan(receivesLeast(DEFAULTS.attempts));
  });
});

test.each([5, 7, 10, 14, 24])(
  "T27: a queue that moves messages after %s receives is reported",
  (n) => {
    expect(findings(n)).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/set maxReceiveCount to 25$/) }),
    ]);
  },
);

test("T27: a queue that would move a message before its last attempt is an error", () => {
  expect(findings(5)[0]?.rule.severity).toBe("error");
  expect(findings(10)[0]?.rule.severity).toBe("warning");
  expect(findings(25)).toEqual([]);
});

test("T27: a FIFO queue must not move the record its group waits behind", () => {
  expect(findings(25, "fifo").map(({ rule }) => rule.name)).toEqual(["receives-break-order"]);
  expect(findings(1_000, "fifo")).toEqual([]);
});

test("T27: receives without an attempt do not use up the consumer's attempts", async () => {
  const attempts: number[] = [];
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 3, baseMs: 10, capMs: 10 } },
    handler: (_event, { attempt }) => {
      attempts.push(attempt);
      throw new Error("never");
    },
  });
  await world.send("k");
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  for (let n = 0; n < 20; n += 1) await world.queue.receive(request, new AbortController().signal);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(5_000);
  expect(attempts).toEqual([1, 2, 3]);
  expect(consumer.snapshot()).toMatchObject({ retried: 2, deadLettered: 1 });
});
