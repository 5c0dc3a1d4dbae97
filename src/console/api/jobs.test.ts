import { expect, test } from "vitest";
import { systemPorts } from "../../platform/index.ts";
import { createJobs, type JobStep } from "./jobs.ts";

const STEP: JobStep = { key: "k1:a", name: "a", step: "sent", detail: null };

/** Starts a job, and returns what it is after its end, and how often it was closed. */
async function ended(steps: () => AsyncIterable<JobStep>, isCancelled = false) {
  let closed = 0;
  const jobs = createJobs(systemPorts);
  const { id } = jobs.start({
    kind: "redrive",
    dryRun: false,
    total: 2,
    begin: () => ({ steps: steps(), stopped: async () => null }),
    close: async () => {
      closed += 1;
    },
  });
  if (isCancelled) jobs.cancel(id);
  await jobs.close();
  const { state, counts, error } = jobs.find(id) ?? {};
  return { closed, state, counts, error };
}

test("a job closes what it works on once, whether it fails or is stopped", async () => {
  async function* two() {
    yield STEP;
    yield STEP;
  }
  async function* failing() {
    yield STEP;
    throw new Error("the queue does not answer");
  }
  const cancelled = { closed: 1, state: "stopped", counts: { sent: 2 } };
  expect(await ended(two, true)).toMatchObject(cancelled);
  const error = "the queue does not answer";
  const failed = { closed: 1, state: "failed", counts: { sent: 1 }, error };
  expect(await ended(failing)).toMatchObject(failed);
});
