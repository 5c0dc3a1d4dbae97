// Job redrive: sends the dead letters of a batch's jobs back to their queue, and no others.

import { durationMs } from "../../core/units.ts";
import { Redrive } from "../../ingest/dead-letters/redrive.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { systemPorts } from "../../platform/index.ts";
import type { BatchJob } from "../../produce/jobs.ts";
import { openAwsEnvironment } from "../../run/open/aws-environment.ts";
import { findServer } from "../../run/open/find-server.ts";
import type { JobLocation, JobSession } from "../sessions/job-session.ts";
import { interruption } from "../stop-signals.ts";

/** A batch check follows the jobs, so that the redrive itself need not wait. */
const FOLLOW_MS = durationMs(0);
const PER_SECOND = 100;

/** Returns how many were sent back. */
export async function redriveJobs(
  { ledger, scope, own, targetName }: JobSession,
  jobs: readonly BatchJob[],
  location: JobLocation,
): Promise<number> {
  if (jobs.length === 0) return 0;
  const queue = location.queue ?? targetName;
  const environment = await openAwsEnvironment({ queue, server: await findServer(location) });
  try {
    const { queue: source, deadLetters } = environment;
    const keys = new Set(jobs.flatMap(({ key }) => [key, recordKey(scope, key)]));
    const run = new Redrive(
      { ...systemPorts, ledger, source, deadLetters: deadLetters ?? source },
      {
        scope,
        own,
        filter: { keys },
        signal: interruption(),
        ownQueueOnly: deadLetters === null,
        followMs: FOLLOW_MS,
        perSecond: PER_SECOND,
      },
    );
    for await (const _ of run);
    return run.summary.sent + run.summary.reopened;
  } finally {
    await environment.close();
  }
}
