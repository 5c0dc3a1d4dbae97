// tidegate relay, tidegate sweep, tidegate outbox stats: look after the outbox of producers.
//   R1. relay and sweep are safe in any number, beside producers and each other: leases and epochs
//       decide who sends a row.
//   R2. The exit code is 1 if a single run could not send everything. A run that repeats reports a
//       failure and tries again.

import { counted } from "../../../core/encoding/counted.ts";
import { reasonOf } from "../../../core/errors.ts";
import { durationMs, msBetween } from "../../../core/units.ts";
import type { Outbox } from "../../../ports/outbox.ts";
import type { RelayReport } from "../../../produce/relay.ts";
import type { SweepReport } from "../../../produce/sweeper.ts";
import { command, EXIT_FAILED, EXIT_OK, type ExitCode, text, toggle } from "../../command.ts";
import type { Output } from "../../screen/output.ts";
import { span } from "../../screen/pipeline-summary.ts";
import { interruption } from "../../stop-signals.ts";
import { age } from "../../words/age-flag.ts";
import { scopeFlags, storeFlags, targetFlags } from "../../words/job-flags.ts";
import { requiredFlag } from "../../words/required-flag.ts";

const json = toggle("Print each report as a JSON line.");

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
    const { outboxUrl, openTargetOf } = await import("../../sessions/job-session.ts");
    const { openOutbox } = await import("../../../run/open/open-outbox.ts");
    const { systemPorts } = await import("../../../platform/index.ts");
    const { createRelay } = await import("../../../produce/relay.ts");
    const { target, close } = await openTargetOf(flags);
    try {
      const outbox = await openOutbox(outboxUrl(flags), systemPorts);
      const intervalMs = flags.every ?? durationMs(0);
      const relayed = createRelay({ ...systemPorts, outbox, target }, { intervalMs });
      try {
        if (flags.once) {
          const code = printRelay(out, await relayed.drain(), flags.json);
          return code === EXIT_OK ? await codeOfLeased(out, outbox, target.name) : code;
        }
        await relayed.run(interruption(), (report) => {
          if (report.sent + report.refused > 0 || report.failed !== null) {
            printRelay(out, report, flags.json);
          }
        });
        return EXIT_OK;
      } finally {
        await outbox.close();
      }
    } finally {
      await close();
    }
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
async function codeOfLeased(out: Output, outbox: Outbox, target: string): Promise<ExitCode> {
  const { pending } = await outbox.stats(target);
  if (pending === 0) return EXIT_OK;
  const { SEND_LEASE_MS } = await import("../../../produce/target.ts");
  const rows = counted(pending, "row");
  out.note(
    `${rows} still pending, leased by other processes. If one of them has died, its leases end ` +
      `within ${span(SEND_LEASE_MS)}; run this command again then.`,
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
    const { openJobSession } = await import("../../sessions/job-session.ts");
    const { systemPorts } = await import("../../../platform/index.ts");
    const { createSweeper } = await import("../../../produce/sweeper.ts");
    const session = await openJobSession(flags);
    try {
      const { outbox, ledger, scope } = session;
      const target = await session.openTarget();
      const ports = { ...systemPorts, outbox, ledger, target };
      const stuckAfterMs = flags["stuck-after"] ?? durationMs(0);
      const sweeper = createSweeper(ports, { scope, stuckAfterMs });
      if (flags.every === undefined) return printSweep(out, await sweeper.sweep(), flags.json);
      const options = { everyMs: flags.every, signal: interruption() };
      await sweeper.run(options, (report) => void printSweep(out, report, flags.json));
      return EXIT_OK;
    } finally {
      await session.close();
    }
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
    const { openOutbox } = await import("../../../run/open/open-outbox.ts");
    const { systemPorts } = await import("../../../platform/index.ts");
    const outbox = await openOutbox(url, systemPorts);
    try {
      const stats = await outbox.stats(target);
      const { pending, sent, refused, oldestPendingAt } = stats;
      const now = systemPorts.clock.now();
      const oldestMs = oldestPendingAt === null ? null : msBetween(oldestPendingAt, now);
      if (flags.json) out.line(JSON.stringify({ target, ...stats, oldestPendingMs: oldestMs }));
      else {
        const oldest = oldestMs === null ? "" : `, the oldest for ${span(oldestMs)}`;
        out.line(`${target}: ${pending} pending${oldest}, ${sent} sent, ${refused} refused`);
      }
      return EXIT_OK;
    } finally {
      await outbox.close();
    }
  },
});
