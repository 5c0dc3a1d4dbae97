// tidegate ledger purge, tidegate outbox purge: delete expired rows now.

import { counted } from "../../../core/encoding/counted.ts";
import { RETENTION_DAYS_MAX } from "../../../core/limits.ts";
import type { Progress } from "../../../core/progress.ts";
import { days } from "../../../core/units.ts";
import type { LedgerAccess } from "../../../operate/ledgers.ts";
import type { SourceOptions } from "../../../operate/sources.ts";
import { command, EXIT_OK, type ExitCode, text, toggle, wholeNumber } from "../../command.ts";
import { requiredFlag } from "../../flags/required-flag.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import type { Output } from "../../screen/output.ts";
import { interruption } from "../../stop-signals.ts";
import { ledgerUrlFlag } from "./ledger.ts";

const json = toggle("Print the number of deleted rows as JSON.");
const acceptClockFlag = toggle("Believe the clock, however far it is ahead of the newest row.");

export const ledgerPurge = command({
  name: "ledger purge",
  summary: "Delete the expired rows of a ledger.",
  flags: { ledger: ledgerUrlFlag, "accept-clock": acceptClockFlag, json },
  async run({ flags, out }) {
    const ledger = requiredFlag(flags.ledger, "ledger");
    return report(out, flags, { ledger }, (access, signal) => access.purge(signal));
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
    const retentionDays = flags["retention-days"];
    const keepMs = retentionDays === undefined ? undefined : days(retentionDays);
    const purge = (access: LedgerAccess, signal: AbortSignal) =>
      access.purgeOutbox({ keepMs }, signal);
    return report(out, flags, { outbox: url }, purge);
  },
});

async function report(
  out: Output,
  flags: { readonly json?: boolean | undefined; readonly "accept-clock"?: boolean | undefined },
  location: SourceOptions,
  purge: (access: LedgerAccess, signal: AbortSignal) => Progress<number, number>,
): Promise<ExitCode> {
  const [{ Sources }, { ledgerOf }] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/ledgers.ts"),
  ]);
  const { json: asJson, "accept-clock": acceptClock } = flags;
  await using sources = new Sources({ ...location, acceptClock });
  const signal = interruption();
  const screen = out.terminal && !asJson ? createLiveScreen(process.stdout) : null;
  const run = purge(ledgerOf(sources), signal);
  try {
    for await (const purged of run) screen?.show([`${counted(purged, "expired row")} deleted`]);
  } finally {
    screen?.close();
  }
  const purged = await run.result();
  if (asJson) out.line(JSON.stringify({ purged, interrupted: signal.aborted }));
  else {
    const note = signal.aborted ? " Interrupted; run the command again to continue." : "";
    out.line(`${counted(purged, "expired row")} deleted.${note}`);
  }
  return EXIT_OK;
}
