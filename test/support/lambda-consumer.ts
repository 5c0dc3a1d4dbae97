// Lambda consumer: a function with its event source mapping, in place of a consumer of the
// simulated world. The simulator's faults and checkers apply to it unchanged.
//   K1. The mapping dies with the process. On AWS it lives on, which loses less: the messages in
//       flight become visible by themselves either way.

import {
  createLambdaHandler,
  type LambdaResponse,
} from "../../src/adapters/lambda/lambda-handler.ts";
import { durationMs } from "../../src/core/units.ts";
import type {
  Consumer,
  ConsumerOptions,
  ConsumerPorts,
} from "../../src/ingest/running/consumer.ts";
import { NO_COUNTS } from "../../src/ingest/telemetry/outcome-counts.ts";
import { createEventSourceMapping } from "../../src/testkit/lambda/event-source-mapping.ts";

const VISIBILITY_FACTOR = 6;
const BATCH_SIZE = 7;

export interface LambdaConsumerOptions {
  readonly timeoutMs: number;
  /** Visibility timeout of the queue. Default: six times the timeout, as AWS advises. */
  readonly visibilityMs?: number;
  /** Changes the answers of the function, to plant a bug. */
  readonly answer?: (response: LambdaResponse | undefined) => unknown;
}

export function createLambdaConsumer(
  ports: ConsumerPorts,
  { pipeline, owner, runId }: ConsumerOptions,
  options: LambdaConsumerOptions,
): Consumer {
  const { queue, clock } = ports;
  const { timeoutMs, answer = (response) => response } = options;
  const host = {
    clock,
    open: async () => undefined,
    openSource: async () => ({ ports, queue, settling: queue, owner, runId }),
    close: async () => undefined,
  };
  const handler = createLambdaHandler(pipeline, { partialFailures: "report" }, host);
  const visibilityMs = durationMs(options.visibilityMs ?? VISIBILITY_FACTOR * timeoutMs);
  const mapped = {
    ...queue,
    receive: (request: Parameters<typeof queue.receive>[0], signal: AbortSignal) =>
      queue.receive({ ...request, visibilityMs }, signal),
  };
  const mapping = createEventSourceMapping(
    { clock, queue: mapped, invocationClock: clock },
    { handler: async (event, at) => answer(await handler(event, at)), functionName: owner },
    { batchSize: BATCH_SIZE, timeoutMs, concurrency: 2 },
  );
  const never = new Promise<never>(() => undefined);
  return {
    start: () => mapping.start(),
    drain: () => mapping.stop().then(() => []),
    stop: () => mapping.stop().then(() => []),
    idle: () => never,
    finished: never,
    emptied: never,
    snapshot: () => ({
      ...NO_COUNTS,
      inFlight: mapping.inFlight,
      waiting: 0,
      breaker: "closed",
      paused: null,
      watermark: null,
      oldestUnsettledAt: null,
    }),
  };
}
