// tidegate ledger: creates, checks, shows and counts a ledger by its URL.

import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type ExitCode,
  text,
  toggle,
  wholeNumber,
} from "../../command.ts";
import type { LedgerReport } from "../../reports/ledger-reports.ts";
import type { Output } from "../../screen/output.ts";
import { requiredFlag } from "../../words/required-flag.ts";

const GENERATION_MAX = 1_000_000;

export const ledgerUrlFlag = text(
  "URL",
  null,
  "Ledger: sqlite:path, postgres://…, dynamodb://table?region=… or memory: (required).",
);
const url = ledgerUrlFlag;

/** A ledger that exists: by its URL, or that of a data folder. */
const location = {
  url: {
    ...text(
      "URL",
      null,
      "Ledger: sqlite:path, postgres://… or dynamodb://table?region=… (default: ledger.db in --data).",
    ),
    env: SETTINGS.ledger.env,
  },
  data: { ...text("FOLDER", SETTINGS.data.fallback, SETTINGS.data.doc), env: SETTINGS.data.env },
};

async function ledgerAt(flags: {
  readonly url?: string | undefined;
  readonly data?: string | undefined;
}): Promise<string> {
  const { ledgerUrl } = await import("../../../run/open/find-server.ts");
  return ledgerUrl({ ledger: flags.url, data: flags.data });
}

/** Loaded here to keep other commands fast. */
async function loadReports() {
  const [reports, { systemPorts }] = await Promise.all([
    import("../../reports/ledger-reports.ts"),
    import("../../../platform/index.ts"),
  ]);
  return { ...reports, ports: systemPorts };
}

function print({ lines, ok }: LedgerReport, out: Output): ExitCode {
  for (const line of lines) out.line(line);
  return ok ? EXIT_OK : EXIT_FAILED;
}

export const ledgerInit = command({
  name: "ledger init",
  summary: "Create a ledger; one of this version stays as it is, and any other is refused.",
  flags: {
    url,
    listing: toggle(
      "DynamoDB only: create the table with the indexes that listing records needs; every write of a record then costs more.",
    ),
  },
  async run({ flags, out }) {
    const ledger = requiredFlag(flags.url, "url");
    const { initLedger, ports } = await loadReports();
    return print(await initLedger(ledger, ports, { listing: flags.listing === true }), out);
  },
});

export const ledgerCheck = command({
  name: "ledger check",
  summary: "Check a ledger for settings and damage that break its guarantees; changes nothing.",
  flags: location,
  async run({ flags, out }) {
    const ledger = await ledgerAt(flags);
    const { checkLedger, ports } = await loadReports();
    return print(await checkLedger(ledger, ports), out);
  },
});

export const ledgerShow = command({
  name: "ledger show",
  summary: "Show the state and the log of one record.",
  flags: {
    ...location,
    pipeline: text("NAME", null, "Pipeline of the record (required)."),
    generation: wholeNumber(
      "NUMBER",
      { min: 0, max: GENERATION_MAX },
      "0",
      "Generation of the record; 0 is live data.",
    ),
    key: text("KEY", null, "Record key (required)."),
  },
  async run({ flags, out }) {
    const pipeline = requiredFlag(flags.pipeline, "pipeline");
    const scope = { pipeline, generation: flags.generation ?? 0 };
    const wanted = { scope, key: requiredFlag(flags.key, "key") };
    const ledger = await ledgerAt(flags);
    const { showRecord, ports } = await loadReports();
    return print(await showRecord(ledger, ports, wanted), out);
  },
});

export const ledgerStatsCommand = command({
  name: "ledger stats",
  summary: "Count the records of a ledger, by pipeline and generation.",
  flags: location,
  async run({ flags, out }) {
    const ledger = await ledgerAt(flags);
    const { ledgerStats, ports } = await loadReports();
    return print(await ledgerStats(ledger, ports), out);
  },
});
