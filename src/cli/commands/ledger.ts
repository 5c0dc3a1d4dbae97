// tidegate ledger: makes, checks, shows and counts a ledger by its URL.

import { systemClock } from "../../platform/system-clock.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { command, EXIT_FAILED, EXIT_OK, type ExitCode, text, wholeNumber } from "../command.ts";
import type { LedgerReport } from "../ledger-reports.ts";
import { checkLedger, initLedger, ledgerStats, showRecord } from "../ledger-reports.ts";
import type { Output } from "../output.ts";
import { required } from "../required-flag.ts";

const PORTS = { clock: systemClock, turn: systemTurn, random: systemRandom };
const GENERATION_MAX = 1_000_000;

const url = text(
  "URL",
  null,
  "Where it is: sqlite:path, postgres://…, dynamodb://table?region=…, memory: (needed).",
);

function tell({ lines, ok }: LedgerReport, out: Output): ExitCode {
  for (const line of lines) out.line(line);
  return ok ? EXIT_OK : EXIT_FAILED;
}

export const ledgerInit = command({
  name: "ledger init",
  summary: "Make a ledger, or bring it up to date.",
  flags: { url },
  run: async ({ flags, out }) => tell(await initLedger(required(flags.url, "url"), PORTS), out),
});

export const ledgerCheck = command({
  name: "ledger check",
  summary: "Look for what would break a ledger's promises, without changing it.",
  flags: { url },
  run: async ({ flags, out }) => tell(await checkLedger(required(flags.url, "url"), PORTS), out),
});

export const ledgerShow = command({
  name: "ledger show",
  summary: "Show all that is known of one record.",
  flags: {
    url,
    pipeline: text("NAME", null, "The pipeline whose record it is (needed)."),
    generation: wholeNumber(
      "NUMBER",
      { min: 0, max: GENERATION_MAX },
      "0",
      "0 for live work; every replay counts one up.",
    ),
    key: text("KEY", null, "The record's key (needed)."),
  },
  async run({ flags, out }) {
    const pipeline = required(flags.pipeline, "pipeline");
    const scope = { pipeline, generation: flags.generation ?? 0 };
    const wanted = { scope, key: required(flags.key, "key") };
    return tell(await showRecord(required(flags.url, "url"), PORTS, wanted), out);
  },
});

export const ledgerStatsCommand = command({
  name: "ledger stats",
  summary: "Count what a ledger remembers, by pipeline and generation.",
  flags: { url },
  run: async ({ flags, out }) => tell(await ledgerStats(required(flags.url, "url"), PORTS), out),
});
