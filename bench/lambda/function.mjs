// Function: a fresh process that loads the built package, answers two batches, and prints how long
// each part took. It is JavaScript, like a deployed function: nothing is compiled on the way.

import { performance } from "node:perf_hooks";

const { ENDPOINT, LEDGER, ARN } = process.env;
const began = performance.now();
const { pipeline } = await import("tidegate");
const { lambdaHandler } = await import("tidegate/lambda");
const handler = lambdaHandler(
  pipeline({ name: "bench", source: { queue: "bench" }, sink() {}, handler: () => {} }),
  { ledger: LEDGER, endpoint: ENDPOINT, logLevel: "error" },
);
const loaded = performance.now();

const eventTime = "2026-11-15T08:00:00Z";
const { buildEnvelope } = await import("tidegate/produce");
const batchOf = (name) => ({
  Records: Array.from({ length: 10 }, (_, at) => {
    const key = `${process.pid}-${name}-${at}`;
    const event = { source: "bench.lambda.batch", dedupeKey: key, eventTime, payload: {} };
    return {
      messageId: key,
      receiptHandle: key,
      body: buildEnvelope(event).value.body,
      attributes: { ApproximateReceiveCount: "1", SentTimestamp: "1794729600000" },
      messageAttributes: {},
      eventSource: "aws:sqs",
      eventSourceARN: ARN,
    };
  }),
});
const context = { getRemainingTimeInMillis: () => 30_000 };

async function timed(name) {
  const event = batchOf(name);
  const from = performance.now();
  const { batchItemFailures } = await handler(event, context);
  if (batchItemFailures.length > 0) throw new Error("a message failed");
  return performance.now() - from;
}

const first = await timed("first");
const warm = [];
for (let at = 0; at < 20; at += 1) warm.push(await timed(`warm-${at}`));
warm.sort((a, b) => a - b);
const report = { load: loaded - began, first, warm: warm[10] };
console.log(JSON.stringify({ ...report, rssMib: process.memoryUsage().rss / 2 ** 20 }));
await handler.close();
