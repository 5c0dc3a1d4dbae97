// tidegate ledger purge, tidegate outbox purge: delete expired rows now.

import { command, EXIT_OK, type ExitCode, text, toggle } from "../command.ts";
import type { PurgeRun } from "../reports/purge-report.ts";
import { createLiveScreen } from "../screen/live-screen.ts";
import type { Output } from "../screen/output.ts";
import { interruption } from "../stop-signals.ts";
import { requiredFlag } from "../words/required-flag.ts";
import { ledgerUrlFlag } from "./ledger.ts";

const json = toggle("Print the number of deleted rows as JSON.");

export const ledgerPurge = command({
  name: "ledger purge",
  summary: "Delete the expired rows of a ledger.",
  flags: { url: ledgerUrlFlag, json },
  async run({ flags, out }) {
    const url = requiredFlag(flags.url, "url");
    const { purgeLedger } = await import("../reports/purge-report.ts");
    return report(out, flags.json === true, (run) => purgeLedger(url, run));
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
    json,
  },
  async run({ flags, out }) {
    const url = requiredFlag(flags.url, "url");
    const { purgeOutbox } = await import("../reports/purge-report.ts");
    return report(out, flags.json === true, (run) => purgeOutbox(url, run));
  },
});

async function report(
  out: Output,
  asJson: boolean,
  purge: (run: PurgeRun) => Promise<number>,
): Promise<ExitCode> {
  const signal = interruption();
  const screen = out.terminal && !asJson ? createLiveScreen(process.stdout) : null;
  const onProgress = (purged: number) => screen?.show([`${purged} expired rows deleted`]);
  const purged = await purge({ signal, onProgress }).finally(() => screen?.close());
  if (asJson) out.line(JSON.stringify({ purged, interrupted: signal.aborted }));
  else {
    const note = signal.aborted ? " Interrupted; run the command again to continue." : "";
    out.line(`${purged} expired rows deleted.${note}`);
  }
  return EXIT_OK;
}
