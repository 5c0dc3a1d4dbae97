// Named pipeline: what the options of an operator name, and the sentences for options that do not
// fit together.

import { refuseConfig } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { RunSettings } from "../run/config.ts";
import { isPipelineFile, loadPipeline } from "../run/open/load-pipeline.ts";
import { parseStoreUrl } from "../run/open/store-url.ts";
import { prepareRun } from "../run/prepare-run.ts";
import type { SourceOptions } from "./sources.ts";

export interface Named {
  /** Null if only its name is known. */
  readonly pipeline: Pipeline | null;
  readonly scope: LedgerScope;
}

export async function findNamed(options: SourceOptions): Promise<Named | null> {
  const { pipeline: given, generation, tablesDatabase } = options;
  if (given === undefined) return null;
  if (typeof given === "string" && !isPipelineFile(given)) {
    return { pipeline: null, scope: { pipeline: given, generation: generation ?? 0 } };
  }
  const loaded = typeof given === "string" ? await loadPipeline(given) : given;
  const { pipeline } = prepareRun("run", loaded, { generation, tablesDatabase });
  return { pipeline, scope: { pipeline: pipeline.name, generation: pipeline.generation } };
}

export async function filtered<T>(
  all: readonly T[],
  holds: (each: T) => Promise<boolean>,
): Promise<T[]> {
  const held = await Promise.all(all.map(holds));
  return all.filter((_, index) => held[index]);
}

export function chooseScope(scopes: readonly LedgerScope[]): string {
  if (scopes.length === 0) {
    return "no pipeline of the ledger fits; name the pipeline, and the generation of a replay";
  }
  const names = scopes.map(({ pipeline }) => pipeline);
  if (new Set(names).size > 1) {
    return `the ledger has several pipelines (${names.join(", ")}); choose one with pipeline`;
  }
  const generations = scopes.map(({ generation }) => generation).join(", ");
  return `${names[0]} has several generations (${generations}); choose one with generation`;
}

export function refuseMixed(what: string): never {
  refuseConfig(`${what}: pass both by name, or both open`);
}

/** The URL of a ledger. Nothing can be beside an open one, as nothing is beside one in memory. */
export function urlOf(ledger: string | object | undefined): string | undefined {
  return typeof ledger === "object" ? "memory:" : ledger;
}

/** The outbox in the ledger's store. DynamoDB keeps them in separate tables. */
export function outboxUrl(ledger: SourceOptions["ledger"], url: string): string {
  if (typeof ledger === "object") {
    refuseConfig("an open ledger names no outbox; pass outbox");
  }
  if (parseStoreUrl(url, "ledger").store !== "dynamodb") return url;
  refuseConfig("an outbox on DynamoDB has its own table; name the outbox, too");
}

/** The settings of a run that the options are. */
export function runSettingsOf(options: SourceOptions): RunSettings {
  const { endpoint, region, data, generation, tablesDatabase } = options;
  const { ledger, queue, deadLetterQueue } = options;
  const settings = {
    endpoint,
    region,
    data,
    generation,
    tablesDatabase,
    logLevel: "warn",
    ledger: typeof ledger === "string" ? ledger : undefined,
    queue: typeof queue === "string" ? queue : undefined,
    deadLetterQueue: typeof deadLetterQueue === "string" ? deadLetterQueue : undefined,
  };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}
