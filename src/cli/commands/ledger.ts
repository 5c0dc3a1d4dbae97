// tidegate ledger: makes, checks, shows and counts a ledger by its URL.

import { command, EXIT_FAILED, EXIT_OK, type ExitCode, text, wholeNumber } from "../command.ts";
import type { LedgerReport } from "../reports/ledger-reports.ts";
import type { Output } from "../screen/output.ts";
import { requiredFlag } from "../words/required-flag.ts";

const GENERATION_MAX = 1_000_000;

export const ledgerUrlFlag = text(
  "URL",
  null,
  "Ledger: sqlite:path, postgres://…, dynamodb://table?region=… or memory: (required).",
);
const url = ledgerUrlFlag;

/** Loaded here, so that other commands need not wait for it. */
async function loadReports() {
  const [reports, { systemPorts }] = await Promise.all([
    import("../reports/ledger-reports.ts"),
    import("../../platform/index.ts"),
  ]);
  return { ...reports, ports: systemPorts };
}

function tell({ lines, ok }: LedgerReport, out: Output): ExitCode {
  for (const line of lines) out.line(line);
  return ok ? EXIT_OK : EXIT_FAILED;
}

export const ledgerInit = command({
  name: "ledger init",
  summary: "Make a ledger, or bring it up to date.",
  flags: { url },
  async run({ flags, out }) {
    const at = requiredFlag(flags.url, "url");
    const { initLedger, ports } = await loadReports();
    return tell(await initLedger(at, ports), out);
  },
});

export const ledgerCheck = command({
  name: "ledger check",
  summary: "Look for what would break a ledger's promises, without changing it.",
  flags: { url },
  async run({ flags, out }) {
    const at = requiredFlag(flags.url, "url");
    const { checkLedger, ports } = await loadReports();
    return tell(await checkLedger(at, ports), out);
  },
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
    const pipeline = requiredFlag(flags.pipeline, "pipeline");
    const scope = { pipeline, generation: flags.generation ?? 0 };
    const wanted = { scope, key: requiredFlag(flags.key, "key") };
    const at = requiredFlag(flags.url, "url");
    const { showRecord, ports } = await loadReports();
    return tell(await showRecord(at, ports, wanted), out);
  },
});

export const ledgerStatsCommand = command({
  name: "ledger stats",
  summary: "Count what a ledger remembers, by pipeline and generation.",
  flags: { url },
  async run({ flags, out }) {
    const at = requiredFlag(flags.url, "url");
    const { ledgerStats, ports } = await loadReports();
    return tell(await ledgerStats(at, ports), out);
  },
});
