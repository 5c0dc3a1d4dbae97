// tidegate ledger purge, tidegate outbox purge: delete expired rows now.

import { counted } from "../../../core/encoding/counted.ts";
import { RETENTION_DAYS_MAX } from "../../../core/limits.ts";
import { days } from "../../../core/units.ts";
import { command, EXIT_OK, type ExitCode, text, toggle, wholeNumber } from "../../command.ts";
import type { PurgeRun } from "../../reports/purge-report.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import type { Output } from "../../screen/output.ts";
import { interruption } from "../../stop-signals.ts";
import { requiredFlag } from "../../words/required-flag.ts";
import { ledgerUrlFlag } from "./ledger.ts";

const json = toggle("Print the number of deleted rows as JSON.");
const acceptClockFlag = toggle("Believe the clock, however far it is ahead of the newest row.");

export const ledgerPurge = command({
  name: "ledger purge",
  summary: "Delete the expired rows of a ledger.",
  flags: { ledger: ledgerUrlFlag, "accept-clock": acceptClockFlag, json },
  async run({ flags, out }) {
    const ledger = requiredFlag(flags.ledger, "ledger");
    const { purgeLedger } = await import("../../reports/purge-report.ts");
    return report(out, flags, (run) => purgeLedger(ledger, run));
  },
});

export const outboxPurge = command({
  name: "outbox purge",
  summary: "Delete the expired rows of a producer's outbox.",
  flags: {
    url: text(
      "URL",
      null,
      "Outbox: sqlite:path, postgres://… or dynamodb://table?region=… (required).",
    ),
    "retention-days": wholeNumber(
      "DAYS",
      { min: 1, max: RETENTION_DAYS_MAX },
      null,
      "Also delete rows that were sent longer ago (default: only rows that have expired).",
    ),
    "accept-clock": acceptClockFlag,
    json,
  },
  async run({ flags, out }) {
    const url = requiredFlag(flags.url, "url");
    const { purgeOutbox } = await import("../../reports/purge-report.ts");
    const keepMs = flags["retention-days"] === undefined ? null : days(flags["retention-days"]);
    return report(out, flags, (run) => purgeOutbox(url, keepMs, run));
  },
});

async function report(
  out: Output,
  flags: { readonly json?: boolean | undefined; readonly "accept-clock"?: boolean | undefined },
  purge: (run: PurgeRun) => Promise<number>,
): Promise<ExitCode> {
  const asJson = flags.json === true;
  const signal = interruption();
  const screen = out.terminal && !asJson ? createLiveScreen(process.stdout) : null;
  const acceptClock = flags["accept-clock"] === true;
  const onProgress = (purged: number) =>
    screen?.show([`${counted(purged, "expired row")} deleted`]);
  const purged = await purge({ signal, acceptClock, onProgress }).finally(() => screen?.close());
  if (asJson) out.line(JSON.stringify({ purged, interrupted: signal.aborted }));
  else {
    const note = signal.aborted ? " Interrupted; run the command again to continue." : "";
    out.line(`${counted(purged, "expired row")} deleted.${note}`);
  }
  return EXIT_OK;
}
