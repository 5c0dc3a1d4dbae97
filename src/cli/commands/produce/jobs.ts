// tidegate jobs: registers, lists, shows and retries the jobs of a batch.
//   J1. list and show send nothing. They mark jobs done that the ledger has committed.
//   J2. The exit code of `show` is the answer: 0 if the batch or job is complete, 1 if it is not.
//   J3. A retry redrives the dead letters of the batch's jobs, and of no others.
//   J4. A registration is done when its jobs are sent. If another process, which may have died,
//       leases some, the command names it, waits for the end of the lease, and sends them. With
//       --no-wait it ends with exit code 1 instead.

import { counted } from "../../../core/encoding/counted.ts";
import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import { reasonOf } from "../../../core/errors.ts";
import { durationMs } from "../../../core/units.ts";
import type { JobAccess, LeasedJobs } from "../../../operate/jobs.ts";
import type { Sources } from "../../../operate/sources.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type ExitCode,
  text,
  toggle,
  wholeNumber,
} from "../../command.ts";
import { scopeFlags, storeFlags, targetFlags } from "../../flags/job-flags.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { requiredFlag } from "../../flags/required-flag.ts";
import { batchLine, jobLine, openOf, resultJson } from "../../print/job-text.ts";
import type { Output } from "../../screen/output.ts";
import { interruption } from "../../stop-signals.ts";

const LIMIT_MAX = 1_000_000;

const location = { ...scopeFlags, ...storeFlags, ...targetFlags };
const json = toggle("Print JSON lines.");
const batch = text("NAME", null, "Name of the batch.");
const limit = wholeNumber(
  "NUMBER",
  { min: 1, max: LIMIT_MAX },
  "100",
  "Maximum number of jobs to print.",
);

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { jobsOf }] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/jobs.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, jobs: jobsOf(sources) };
}

function noBatch(out: Output, name: string): ExitCode {
  out.note(`No batch ${name} was registered.`);
  return EXIT_FAILED;
}

export const jobsList = command({
  name: "jobs list",
  summary: "List the batches of a queue, or the jobs of a batch that are not done.",
  flags: {
    ...location,
    batch: text("NAME", null, "Only the open jobs of this batch."),
    limit,
    json,
  },
  async run({ flags, out }) {
    const { sources, jobs } = await load(flags);
    await using _ = sources;
    if (flags.batch !== undefined) {
      return await listJobs(jobs, flags.batch, {
        limit: flags.limit ?? 1,
        out,
        json: flags.json,
      });
    }
    let batches = 0;
    for await (const report of jobs.batches()) {
      batches += 1;
      out.line(flags.json ? JSON.stringify(report) : batchLine(report));
    }
    if (batches === 0) out.note(`No batch was registered for ${await jobs.target()}.`);
    return EXIT_OK;
  },
});

async function listJobs(
  jobs: JobAccess,
  name: string,
  { limit: jobsMax, out, json: asJson }: { limit: number; out: Output; json: boolean | undefined },
): Promise<ExitCode> {
  const report = await jobs.batch(name, { jobsMax });
  if (report === undefined) return noBatch(out, name);
  for (const job of report.jobs) out.line(asJson ? JSON.stringify(job) : jobLine(job));
  const open = openOf(report);
  if (open > report.jobs.length) out.note(`${open - report.jobs.length} more; see --limit.`);
  return EXIT_OK;
}

export const jobsShow = command({
  name: "jobs show",
  summary: "Show whether all jobs of a batch are done, and which are not, or the state of one job.",
  argument: { name: "KEY", doc: "Business key of one job, instead of --batch.", optional: true },
  flags: { ...location, batch, limit, json },
  async run({ argument: key, flags, out }) {
    if (key === undefined) requiredFlag(flags.batch, "batch");
    const { sources, jobs } = await load(flags);
    await using _ = sources;
    if (key !== undefined) return await showJob(jobs, key, out, flags.json);
    const name = flags.batch ?? "";
    const report = await jobs.batch(name, { jobsMax: flags.limit ?? 1 });
    if (report === undefined) return noBatch(out, name);
    if (flags.json) out.line(JSON.stringify(report));
    else {
      out.line(batchLine(report));
      for (const job of report.jobs) out.line(`  ${jobLine(job)}`);
    }
    return report.state === "complete" ? EXIT_OK : EXIT_FAILED; // J2
  },
});

async function showJob(
  jobs: JobAccess,
  key: string,
  out: Output,
  asJson: boolean | undefined,
): Promise<ExitCode> {
  const job = await jobs.find(key);
  if (job === undefined) {
    out.note(`No job ${key} was registered.`);
    return EXIT_FAILED;
  }
  out.line(asJson ? JSON.stringify({ ...job, name: key }) : jobLine({ ...job, name: key }));
  return job.status === "completed" ? EXIT_OK : EXIT_FAILED; // J2
}

export const jobsRetry = command({
  name: "jobs retry",
  summary: "Send the jobs of a batch that are not done again, and redrive its dead letters.",
  flags: {
    ...location,
    batch: text("NAME", null, "Name of the batch (required)."),
    "skip-dead-letters": toggle("Leave dead-lettered jobs where they are."),
    json,
  },
  async run({ flags, out }) {
    const name = requiredFlag(flags.batch, "batch");
    const { sources, jobs } = await load(flags);
    await using _ = sources;
    const skipDeadLetters = flags["skip-dead-letters"];
    const report = await jobs.retry(name, { skipDeadLetters, signal: interruption() });
    if (report === undefined) return noBatch(out, name);
    const { sent, claimed, redriven, deadLettered } = report;
    const failed = report.failed === null ? null : reasonOf(report.failed);
    if (flags.json) out.line(JSON.stringify({ sent, claimed, redriven, deadLettered, failed }));
    else {
      const note = failed === null ? "" : `; some could not be sent: ${failed}`;
      out.line(
        `${counted(sent, "job")} sent, ${redriven} redriven, ${claimed} in progress, ` +
          `${deadLettered} dead-lettered${note}`,
      );
    }
    return failed === null && deadLettered === 0 ? EXIT_OK : EXIT_FAILED;
  },
});

function leasedText({ count, owner, until }: LeasedJobs, waits: boolean): string {
  const next = waits
    ? "Waiting for that time, in case that process has died."
    : "If that process has died, run this command again after that time, or tidegate relay.";
  const lease = `leased by ${owner} until ${formatInstant(until)}`;
  return `${counted(count, "job")} not sent: ${lease}. ${next}`;
}

type Registered = Awaited<ReturnType<JobAccess["register"]>>;

interface WaitOptions {
  readonly clock: Sources["clock"];
  readonly out: Output;
  readonly waits: boolean;
}

/** Registers again until no job is leased, and counts all of it as one registration (J4). */
async function registerAll(
  register: () => Promise<Registered>,
  { clock, out, waits }: WaitOptions,
): Promise<Registered> {
  let firstAdded: number | null = null;
  let sentBefore = 0;
  for (;;) {
    const result = await register();
    if (result.kind === "conflict") return result;
    const { leased, failed } = result;
    firstAdded ??= result.added; // The first call has stored all jobs.
    const sent = sentBefore + result.sent;
    if (leased !== null) out.note(leasedText(leased, waits && failed === null));
    if (leased === null || failed !== null || !waits) return { ...result, added: firstAdded, sent };
    sentBefore = sent;
    await clock.sleep(durationMs(Math.max(1, leased.until - clock.now())));
  }
}

export const jobsRegister = command({
  name: "jobs register",
  summary: "Register the jobs of a batch from a file, and send them.",
  argument: { name: "FILE", doc: 'JSON Lines, one job each: {"key":"…","body":…}.' },
  flags: {
    ...location,
    batch: text("NAME", null, "Name of the batch (required)."),
    group: text("NAME", null, "One message group for all jobs (default: one group per key)."),
    replace: toggle("Replace a batch of other jobs, unless it is complete."),
    "no-wait": toggle("Do not wait for jobs that another process leases."),
    json,
  },
  async run({ argument: file = "", flags, out }) {
    const name = requiredFlag(flags.batch, "batch");
    const { readJobLines } = await import("../../flags/job-lines.ts");
    const { sources, jobs } = await load(flags);
    await using _ = sources;
    const { group, replace } = flags;
    const register = () => jobs.register(name, () => readJobLines(file), { group, replace });
    const waits = flags["no-wait"] !== true;
    const result = await registerAll(register, { clock: sources.clock, out, waits });
    if (flags.json) out.line(resultJson(result));
    else if (result.kind === "conflict") {
      out.note(
        `The batch ${name} has ${counted(result.batch.itemCount, "other job")}; nothing was changed. ` +
          "Use another name, or --replace.",
      );
    } else {
      const { batch: registered, added, sent, failed } = result;
      const note = failed === null ? "" : `; some are still pending: ${reasonOf(failed)}`;
      out.line(
        `${counted(registered.itemCount, "job")} in ${name}: ${added} new, ${sent} sent${note}`,
      );
    }
    const isSent = result.kind === "registered" && result.failed === null;
    return isSent && result.leased === null ? EXIT_OK : EXIT_FAILED;
  },
});
