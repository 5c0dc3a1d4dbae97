import { once } from "node:events";
import { expect, test } from "vitest";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import type { LeaseRenewer } from "../../../src/ports/lease-renewer.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import { prepareRun } from "../../../src/run/prepare-run.ts";
import { runPipeline } from "../../../src/run/run-pipeline.ts";

test("a pipeline whose leases are no longer renewed stops by itself and receives nothing more (G4)", async () => {
  const cloud = await startCloud({ memory: true, setup: { queues: [{ name: "work" }] } });
  const work = createBrokerQueue(cloud.broker, { queue: "work" });
  const polls: AbortSignal[] = [];
  const queue: Queue = {
    ...work,
    receive(request, signal) {
      polls.push(signal);
      return work.receive(request, signal);
    },
  };
  let endRenewer: (reason: string) => void = () => {};
  const renewer: LeaseRenewer = {
    ended: new Promise((resolve) => {
      endRenewer = resolve;
    }),
    track: (_lease, onLost) => queueMicrotask(() => onLost("the thread died")),
    attach() {},
    detach() {},
    release() {},
    alive: () => false,
    async close() {},
  };
  const spec = pipeline({ name: "leases", source: { queue: "work" }, handler() {} });
  const environment = { queue, deadLetters: null, objects: null, close: async () => undefined };
  const running = await runPipeline(
    prepareRun("run", spec, { metricsPort: 0, ledger: "memory:" }),
    { environment, openRenewer: () => renewer },
    { onLogLine() {} },
  );
  try {
    endRenewer("the thread died");
    expect(await running.failed).toMatchObject({
      code: "TG_LEASE_RENEWAL_STOPPED",
      message: expect.stringMatching(/the thread died/),
    });
    const [poll, ...others] = polls;
    expect(others).toEqual([]);
    if (poll?.aborted === false) await once(poll, "abort");
    expect(polls).toHaveLength(1);
  } finally {
    await running.stop();
    await cloud.close();
  }
});
