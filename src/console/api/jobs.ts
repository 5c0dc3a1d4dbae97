// Jobs: redrives, drops and releases that the console started. They run in the server, and the page
// follows them by their id.
//   J1. A job ends by itself, by its stop rule, or by a cancel: always after its current item, so
//       that no item is left half done.
//   J2. The server keeps the latest JOBS_MAX jobs, and ITEMS_MAX steps of each.
//   J3. A job that fails keeps its reason. It never rejects, and closing the console stops all.

import { reasonOf } from "../../core/errors.ts";
import type { Clock, Random } from "../../operate/sources.ts";
import type { ApiSchema } from "./api-schema.ts";

type Job = ApiSchema["Job"];
export type JobKind = Job["kind"];
/** What happened to one record. */
export type JobStep = Omit<Job["items"][number], "at">;

export interface JobStart {
  readonly kind: JobKind;
  readonly dryRun: boolean;
  readonly total: number | null;
  readonly begin: (signal: AbortSignal) => {
    readonly steps: AsyncIterable<JobStep>;
    /** Asked after the last step. */
    readonly stopped?: () => Promise<string | null>;
  };
  /** Called at the end. */
  readonly close: () => Promise<void>;
}

export interface Jobs {
  start(start: JobStart): Job;
  find(id: string): Job | null;
  list(): readonly Job[];
  cancel(id: string): Job | null;
  close(): Promise<void>;
}

const JOBS_MAX = 50;
const ITEMS_MAX = 200;

interface RunningJob {
  view: Job;
  readonly stopping: AbortController;
  running: Promise<void>;
}

export function createJobs({
  clock,
  random,
}: {
  readonly clock: Clock;
  readonly random: Random;
}): Jobs {
  const jobs = new Map<string, RunningJob>();

  async function run(job: RunningJob, { begin, close }: JobStart): Promise<void> {
    let state: Job["state"] = "done";
    let error: string | null = null;
    let stoppedBecause: string | null = null;
    try {
      const { steps, stopped } = begin(job.stopping.signal);
      for await (const step of steps) job.view = withStep(job.view, step, clock.now());
      const { aborted } = job.stopping.signal;
      stoppedBecause = (await stopped?.()) ?? (aborted ? "cancelled" : null);
      if (stoppedBecause !== null) state = "stopped"; // J1
    } catch (failure) {
      state = "failed"; // J3
      error = reasonOf(failure);
    }
    await close().catch((failure: unknown) => {
      error ??= reasonOf(failure);
    });
    job.view = { ...job.view, state, error, stoppedBecause, endedAt: clock.now() };
  }

  return {
    start(start) {
      const view = newView(start, random.uuid(), clock.now());
      const job = { view, stopping: new AbortController(), running: Promise.resolve() };
      const ended = [...jobs.values()].find(({ view }) => view.state !== "running");
      if (jobs.size >= JOBS_MAX && ended !== undefined) jobs.delete(ended.view.id); // J2
      jobs.set(view.id, job);
      job.running = run(job, start);
      return job.view;
    },
    find: (id) => jobs.get(id)?.view ?? null,
    list: () => [...jobs.values()].map(({ view }) => ({ ...view, items: [] })).reverse(),
    cancel(id) {
      const job = jobs.get(id);
      job?.stopping.abort();
      return job?.view ?? null;
    },
    async close() {
      for (const { stopping } of jobs.values()) stopping.abort();
      await Promise.all([...jobs.values()].map(({ running }) => running)); // J3
    },
  };
}

function newView({ kind, dryRun, total }: JobStart, id: string, startedAt: number): Job {
  return {
    id,
    kind,
    state: "running",
    dryRun,
    startedAt,
    endedAt: null,
    total,
    counts: {},
    stoppedBecause: null,
    error: null,
    items: [],
  };
}

function withStep(view: Job, step: JobStep, at: number): Job {
  const counts = { ...view.counts, [step.step]: (view.counts[step.step] ?? 0) + 1 };
  const items = [{ at, ...step }, ...view.items].slice(0, ITEMS_MAX); // J2
  return { ...view, counts, items };
}
