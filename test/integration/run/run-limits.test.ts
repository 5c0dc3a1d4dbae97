// Runs that end by themselves.

import { afterEach, beforeEach, expect, test } from "vitest";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import type { LeaseRenewer } from "../../../src/ports/lease-renewer.ts";
import type { RunSettings } from "../../../src/run/config.ts";
import { prepareRun } from "../../../src/run/prepare-run.ts";
import { type RunningPipeline, runPipeline } from "../../../src/run/run-pipeline.ts";

const IDLE_RENEWER: LeaseRenewer = {
  track() {},
  attach() {},
  detach() {},
  release() {},
  alive: () => true,
  async close() {},
};

let cloud: Awaited<ReturnType<typeof startCloud>>;
let running: RunningPipeline | null = null;
beforeEach(async () => {
  cloud = await startCloud({ memory: true, setup: { queues: [{ name: "work" }] } });
});
afterEach(async () => {
  await running?.stop();
  running = null;
  await cloud.close();
});

async function runWith(settings: RunSettings, messages: number): Promise<RunningPipeline> {
  const queue = createBrokerQueue(cloud.broker, { queue: "work" });
  const bodies = Array.from({ length: messages }, (_, at) => ({
    body: `not json ${at}`,
    attributes: {},
    groupId: null,
    dedupId: null,
  }));
  if (bodies.length > 0) await queue.sendBatch(bodies);
  const spec = pipeline({ name: "limits", source: { queue: "work" }, handler() {} });
  const environment = { queue, deadLetters: null, objects: null, close: async () => undefined };
  return runPipeline(
    prepareRun("run", spec, { metricsPort: 0, ledger: "memory:", ...settings }),
    { environment, openRenewer: () => IDLE_RENEWER },
    { onLogLine() {} },
  );
}

test("maxMessages: the run is finished after that many messages", async () => {
  running = await runWith({ maxMessages: 3 }, 5);
  expect(await running.finished).toBe("3 messages were received");
  expect(running.snapshot().received).toBe(3);
});

test("exitWhenIdle: the run is finished when its queue is empty", async () => {
  running = await runWith({ exitWhenIdle: true }, 0);
  expect(await running.finished).toBe("the queue is empty");
});
