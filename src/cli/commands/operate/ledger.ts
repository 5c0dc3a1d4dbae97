// tidegate ledger: creates, checks, shows and counts a ledger by its URL.

import { TidegateError } from "../../../core/errors.ts";
import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, wholeNumber } from "../../command.ts";
import { sourceOptions } from "../../flags/location-flags.ts";
import { requiredFlag } from "../../flags/required-flag.ts";

const GENERATION_MAX = 1_000_000;

export const ledgerUrlFlag = text(
  "URL",
  null,
  "Ledger: sqlite:path, postgres://…, dynamodb://table?region=… or memory: (required).",
);

/** A ledger that exists: by its URL, or that of a data folder. */
const location = {
  ledger: {
    ...text(
      "URL",
      null,
      "Ledger: sqlite:path, postgres://… or dynamodb://table?region=… (default: ledger.db in --data).",
    ),
    env: SETTINGS.ledger.env,
  },
  data: { ...text("FOLDER", SETTINGS.data.fallback, SETTINGS.data.doc), env: SETTINGS.data.env },
};

/** Loaded here to keep other commands fast. */
async function load(flags: Parameters<typeof sourceOptions>[0]) {
  const [{ Sources }, { ledgerOf }, words] = await Promise.all([
    import("../../../operate/sources.ts"),
    import("../../../operate/ledgers.ts"),
    import("../../print/ledger-text.ts"),
  ]);
  const sources = new Sources(sourceOptions(flags));
  return { sources, ledger: ledgerOf(sources), words };
}

export const ledgerInit = command({
  name: "ledger init",
  summary: "Create a ledger; one of this schema stays as it is, and an older one is not upgraded.",
  flags: {
    ledger: ledgerUrlFlag,
    listing: toggle(
      "DynamoDB only: create the table with the indexes that listing records needs; every write of a record then costs more.",
    ),
  },
  async run({ flags, out }) {
    const url = requiredFlag(flags.ledger, "ledger");
    const { sources, ledger } = await load({ ledger: url });
    await using _ = sources;
    const store = await ledger.create({ listing: flags.listing });
    out.line(`The ${store} ledger is ready.`);
    return EXIT_OK;
  },
});

export const ledgerMigrate = command({
  name: "ledger migrate",
  summary: "Upgrade a ledger, and the outbox in the same database, to the schema of this release.",
  flags: {
    ...location,
    "dry-run": toggle("Show what would change and stop."),
    sql: toggle("PostgreSQL only: print the statements instead of running them."),
  },
  async run({ flags, out }) {
    const { sources, ledger, words } = await load(flags);
    await using _ = sources;
    const { sql = false } = flags;
    const dryRun = flags["dry-run"] === true || sql;
    const upgrades = await ledger.migrate({ dryRun });
    if (sql) for (const line of words.upgradeSql(upgrades)) out.line(line);
    else for (const line of words.upgradeLines(upgrades, { dryRun })) out.line(line);
    return EXIT_OK;
  },
});

export const ledgerCheck = command({
  name: "ledger check",
  summary: "Check a ledger for settings, damage and edited records; changes nothing.",
  flags: location,
  async run({ flags, out }) {
    const { sources, ledger } = await load(flags);
    await using _ = sources;
    const { problems, notes } = await ledger.check();
    for (const line of [...problems, ...notes]) out.line(line);
    if (problems.length === 0) out.line("The ledger is sound.");
    return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
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
    const generation = flags.generation ?? 0;
    const key = requiredFlag(flags.key, "key");
    if (key === "") {
      throw new TidegateError("TG_CONFIG_INVALID", "--key is empty; name a record key");
    }
    const { sources, ledger, words } = await load({ ...flags, pipeline, generation });
    await using _ = sources;
    const view = await ledger.show(key);
    if (view === undefined) out.line(`No record ${key} in ${pipeline}, generation ${generation}.`);
    else for (const line of words.viewLines(view)) out.line(line);
    return view === undefined ? EXIT_FAILED : EXIT_OK;
  },
});

export const ledgerStatsCommand = command({
  name: "ledger stats",
  summary: "Count the records of a ledger, by pipeline and generation.",
  flags: location,
  async run({ flags, out }) {
    const { sources, ledger, words } = await load(flags);
    await using _ = sources;
    for (const line of words.statsLines(await ledger.stats())) out.line(line);
    return EXIT_OK;
  },
});
