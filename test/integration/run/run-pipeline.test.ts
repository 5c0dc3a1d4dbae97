import { once } from "node:events";
import { expect, test } from "vitest";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import type { LeaseRenewer } from "../../../src/ports/lease-renewer.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import { fillSettings } from "../../../src/run/config.ts";
import { runPipeline } from "../../../src/run/run-pipeline.ts";

test("a pipeline whose leases nobody keeps stops by itself, and receives nothing more (G4)", async () => {
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
  let endKeeper: (reason: string) => void = () => {};
  const keeper: LeaseRenewer = {
    ended: new Promise((resolve) => {
      endKeeper = resolve;
    }),
    track: (_lease, onLost) => queueMicrotask(() => onLost("the thread died")),
    attach() {},
    detach() {},
    release() {},
    alive: () => false,
    async close() {},
  };
  const running = await runPipeline(
    pipeline({ name: "leases", source: { queue: "work" }, handler() {} }),
    {
      ...{ queue, deadLetters: null, objects: null },
      openRenewer: () => keeper,
      close: async () => undefined,
    },
    { ...fillSettings("run", { metricsPort: 0 }), ledger: "memory:" },
    { onLogLine() {} },
  );
  try {
    endKeeper("the thread died");
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
