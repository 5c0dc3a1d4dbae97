// The log line of a committed record.

import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";

async function commitLogs(count: number, options: Parameters<typeof createConsumerWorld>[0]) {
  await using world = await createConsumerWorld(options);
  for (let at = 0; at < count; at += 1) {
    if (options?.bucket === undefined) await world.send(`k${at}`);
    else await world.put(`2026/${at}.csv`, "x");
  }
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(3_000);
  expect(consumer.snapshot().committed).toBe(count);
  return world.logs.filter(({ message }) => message === "committed");
}

test("each committed record is logged once at info, with key, source, rows and duration", async () => {
  const handler = (_: unknown, { emit }: { emit: (effect: unknown) => void }) => {
    emit(1);
    emit(2);
  };
  const logs = await commitLogs(2, { handler });
  expect(logs).toHaveLength(2);
  expect(logs[0]).toMatchObject({
    level: "info",
    fields: {
      idempotency_key: expect.stringMatching(/^k1:/),
      message_id: expect.any(String),
      source: "work",
      rows: 2,
      duration_ms: expect.any(Number),
    },
  });
});

test("the source of an object is its address, masked like all text", async () => {
  const [plain] = await commitLogs(1, { bucket: "files" });
  expect(plain?.fields).toMatchObject({ source: "s3://files/2026/0.csv", rows: 0 });
  const [masked] = await commitLogs(1, { bucket: "files", pipeline: { mask: ["object.key"] } });
  expect(JSON.stringify(masked)).not.toContain("0.csv");
});

test.each([
  [0, 0],
  [0.25, 5],
  [1, 20],
])("with logCommits %d, %d of 20 records are logged (Y5)", async (logCommits, expected) => {
  expect(await commitLogs(20, { pipeline: { logCommits } })).toHaveLength(expected);
});

test.each([-1, 2, Number.NaN, "all"])("logCommits %s is rejected", async (logCommits) => {
  const opening = createConsumerWorld({ pipeline: { logCommits: logCommits as number } });
  await expect(opening).rejects.toThrow("logCommits must be a number from 0 to 1");
});
