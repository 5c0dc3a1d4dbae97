// tidegate relay, tidegate sweep, tidegate outbox stats: look after the outbox of producers.
//   R1. relay and sweep are safe in any number, beside producers and each other: leases and epochs
//       decide who sends a row.
//   R2. The exit code is 1 if a single run could not send everything. A run that repeats reports a
//       failure and tries again.

import { counted } from "../../../core/encoding/counted.ts";
import { reasonOf } from "../../../core/errors.ts";
import type { DurationMs } from "../../../core/units.ts";
import type { SweepReport } from "../../../operate/jobs.ts";
import type { OutboxAccess, RelayReport } from "../../../operate/outbox.ts";
import { command, EXIT_FAILED, EXIT_OK, type ExitCode, text, toggle } from "../../command.ts";
import { age } from "../../flags/age-flag.ts";
import { scopeFlags, storeFlags, targetFlags } from "../../flags/job-flags.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { requiredFlag } from "../../flags/required-flag.ts";
import type { Output } from "../../screen/output.ts";
import { span } from "../../screen/pipeline-summary.ts";
import { interruption } from "../../stop-signals.ts";

const json = toggle("Print each report as a JSON line.");

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { outboxOf, SEND_LEASE_MS }, { jobsOf }] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/outbox.ts"),
    import("../../../operate/jobs.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, outbox: outboxOf(sources), jobs: jobsOf(sources), leaseMs: SEND_LEASE_MS };
}

export const relay = command({
  name: "relay",
  summary: "Send the outbox rows that crashed producers left pending.",
  flags: {
    ...storeFlags,
    ...targetFlags,
    once: toggle("Send what is pending now, and exit."),
    every: age("Pause between two rounds.", "10s"),
    json,
  },
  async run({ flags, out }) {
    const { sources, outbox, leaseMs } = await load(flags);
    await using _ = sources;
    if (flags.once) {
      const code = printRelay(out, await outbox.relay(), flags.json);
      return code === EXIT_OK ? await codeOfLeased(out, outbox, leaseMs) : code;
    }
    await outbox.relayEvery(flags.every ?? 0, interruption(), (report) => {
      if (report.sent + report.refused > 0 || report.failed !== null) {
        printRelay(out, report, flags.json);
      }
    });
    return EXIT_OK;
  },
});

function printRelay(out: Output, report: RelayReport, asJson: boolean | undefined): ExitCode {
  const { sent, refused, failed } = report;
  const reason = failed === null ? null : reasonOf(failed);
  if (asJson) out.line(JSON.stringify({ sent, refused, failed: reason }));
  else {
    const note = reason === null ? "" : `; rows are still pending: ${reason}`;
    out.line(`${counted(sent, "row")} sent, ${refused} refused${note}`);
  }
  return reason === null && refused === 0 ? EXIT_OK : EXIT_FAILED; // R2
}

/** R2: a row that another process leases was not sent, and that process may have died. */
async function codeOfLeased(
  out: Output,
  outbox: OutboxAccess,
  leaseMs: DurationMs,
): Promise<ExitCode> {
  const { pending } = await outbox.stats();
  if (pending === 0) return EXIT_OK;
  const rows = counted(pending, "row");
  out.note(
    `${rows} still pending, leased by other processes. If one of them has died, its leases end ` +
      `within ${span(leaseMs)}; run this command again then.`,
  );
  return EXIT_FAILED;
}

export const sweep = command({
  name: "sweep",
  summary: "Send unsent jobs, and republish jobs that no consumer has processed.",
  flags: {
    ...scopeFlags,
    ...storeFlags,
    ...targetFlags,
    "stuck-after": age("Age of a sent, unclaimed job at which it is republished.", "12h"),
    every: age("Sweep again after this pause (default: sweep once and exit)."),
    json,
  },
  async run({ flags, out }) {
    const { sources, jobs } = await load(flags);
    await using _ = sources;
    const options = { stuckAfterMs: flags["stuck-after"] };
    if (flags.every === undefined) {
      return printSweep(out, await jobs.sweep(options), flags.json);
    }
    const onReport = (report: SweepReport) => void printSweep(out, report, flags.json);
    await jobs.sweepEvery(flags.every, interruption(), onReport, options);
    return EXIT_OK;
  },
});

function printSweep(out: Output, report: SweepReport, asJson: boolean | undefined): ExitCode {
  const { sent, republished, done, failed } = report;
  const reason = failed === null ? null : reasonOf(failed);
  if (asJson) out.line(JSON.stringify({ sent, republished, done, failed: reason }));
  else {
    const note = reason === null ? "" : `; some could not be sent: ${reason}`;
    out.line(`${counted(sent, "job")} sent, ${republished} republished, ${done} ended${note}`);
  }
  return reason === null ? EXIT_OK : EXIT_FAILED; // R2
}

export const outboxStats = command({
  name: "outbox stats",
  summary: "Count the rows of a producer's outbox, by state.",
  flags: {
    url: text(
      "URL",
      null,
      "Outbox: sqlite:path, postgres://… or dynamodb://table?region=… (required).",
    ),
    target: text("NAME", null, "Name of the queue or topic that the rows are sent to (required)."),
    json: toggle("Print the counts as JSON."),
  },
  async run({ flags, out }) {
    const url = requiredFlag(flags.url, "url");
    const target = requiredFlag(flags.target, "target");
    const { sources, outbox } = await load({ outbox: url, queue: target });
    await using _ = sources;
    const { oldestPendingMs, ...stats } = await outbox.stats();
    if (flags.json) out.line(JSON.stringify({ ...stats, oldestPendingMs }));
    else {
      const { pending, sent, refused } = stats;
      const oldest = oldestPendingMs === null ? "" : `, the oldest for ${span(oldestPendingMs)}`;
      out.line(`${target}: ${pending} pending${oldest}, ${sent} sent, ${refused} refused`);
    }
    return EXIT_OK;
  },
});
