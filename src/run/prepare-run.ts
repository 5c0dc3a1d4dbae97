// Prepare run: a pipeline and settings as they are run. `tidegate run`, `tidegate dev` and the
// library share it.
//   S1. Defaults are filled in here and nowhere else.
//   S2. A setting overrides the field of the pipeline file.

import { dirname, join } from "node:path";
import { TidegateError } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import {
  type FilledSettings,
  fillSettings,
  type RunSettings,
  type SettingCommand,
} from "./config.ts";
import { ensureFolder } from "./open/ensure-folder.ts";
import { ledgerUrl } from "./open/find-server.ts";
import { parseStoreUrl } from "./open/store-url.ts";

export type ReadySettings = FilledSettings & { readonly ledger: string };

export interface PreparedRun {
  readonly pipeline: Pipeline;
  readonly settings: ReadySettings;
}

/** Fills in the defaults of `command`, and applies the settings to the pipeline. */
export function prepareRun(
  command: SettingCommand,
  pipeline: Pipeline,
  given: RunSettings,
): PreparedRun {
  const filled = fillSettings(command, given); // S1
  const manifests = filled.manifests ?? (command === "dev" ? join(filled.data, "manifests") : "");
  const ledger = ledgerUrl(filled);
  const settings = { ...filled, ledger, ...(manifests !== "" && { manifests }) };
  return { pipeline: withTablesIn(withOverrides(pipeline, settings), settings), settings }; // S2
}

/** Creates the folder of a ledger that is a file. */
export function ensureLedgerFolder(url: string): void {
  const location = parseStoreUrl(url, "ledger");
  if (location.store === "sqlite") ensureFolder("ledger", dirname(location.path));
}

function withOverrides(pipeline: Pipeline, settings: RunSettings): Pipeline {
  const { generation = pipeline.generation } = settings;
  const { ledgerRetentionDays = pipeline.retention.ledgerDays } = settings;
  const { outboxRetentionDays = pipeline.retention.outboxDays } = settings;
  const retention = { ledgerDays: ledgerRetentionDays, outboxDays: outboxRetentionDays };
  return { ...pipeline, generation, retention };
}

function withTablesIn(pipeline: Pipeline, { tablesDatabase: database }: RunSettings): Pipeline {
  const { sink } = pipeline;
  if (database === undefined) return pipeline;
  if (sink === null || typeof sink === "function") {
    const message = "tablesDatabase needs a pipeline whose sink is tables()";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  return { ...pipeline, sink: { ...sink, database } };
}
