// Dead-letter session: what the dlq commands work on. A ledger, whose dossiers name the pipelines
// and queues, and the queues, opened on demand.

import { TidegateError } from "../../core/errors.ts";
import { dossiersOf } from "../../ingest/dead-letters/dossier-list.ts";
import type { OwnDecoding } from "../../ingest/spec/own-source.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { openAwsEnvironment } from "../../run/open/aws-environment.ts";
import { findServer, ledgerUrl } from "../../run/open/find-server.ts";
import { loadPipeline } from "../../run/open/load-pipeline.ts";
import { openLedger } from "../../run/open/open-ledger.ts";

export interface DeadLetterLocation {
  readonly pipeline?: string | undefined;
  readonly generation?: number | undefined;
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly queue?: string | undefined;
  readonly "dead-letter-queue"?: string | undefined;
}

export interface DeadLetterSession {
  readonly ledger: Ledger;
  /** The named pipeline, or all pipelines of the ledger. */
  readonly scopes: readonly LedgerScope[];
  /** How the named pipeline file reads own messages; null if it does not, or is not named. */
  readonly own: OwnDecoding | null;
  /** The only scope; throws if there are several. */
  onlyScope(): LedgerScope;
  /** Null if no queue is named and no dossier names one. */
  openQueues(
    scope: LedgerScope,
    /** Finds the queue if no flag and no pipeline file names one. Default: in the dossiers. */
    find?: () => Promise<string | null>,
  ): Promise<{ queue: Queue; deadLetters: Queue | null } | null>;
  close(): Promise<void>;
}

const PIPELINE_FILE = /\.m?[jt]s$/;

export async function openDeadLetterSession(
  location: DeadLetterLocation,
): Promise<DeadLetterSession> {
  const named = await readPipeline(location);
  const ledger = await openLedger(ledgerUrl(location), systemPorts, { migrate: false });
  const closers: (() => Promise<void>)[] = [() => ledger.close()];
  const scopes = named === null ? await allScopes(ledger, location.generation) : [named.scope];
  return {
    ledger,
    scopes,
    own: named?.own ?? null,
    onlyScope() {
      const [scope, ...others] = scopes;
      if (scope !== undefined && others.length === 0) return scope;
      throw new TidegateError("TG_CONFIG_INVALID", chooseScope(scopes));
    },
    async openQueues(scope, find = () => queueInDossiers(ledger, scope)) {
      const queue = location.queue ?? named?.queue ?? (await find());
      if (queue === null) return null;
      const deadLetterQueue = location["dead-letter-queue"];
      const server = await findServer(location);
      const environment = await openAwsEnvironment({ queue, deadLetterQueue, server });
      closers.push(() => environment.close());
      return { queue: environment.queue, deadLetters: environment.deadLetters };
    },
    async close() {
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
    },
  };
}

function chooseScope(scopes: readonly LedgerScope[]): string {
  if (scopes.length === 0) return "the ledger is empty; name the pipeline with --pipeline";
  const names = scopes.map(({ pipeline }) => pipeline);
  if (new Set(names).size === 1) {
    const generations = scopes.map(({ generation }) => generation).join(", ");
    return `${names[0]} has several generations (${generations}); choose one with --generation`;
  }
  return `the ledger has several pipelines (${names.join(", ")}); choose one with --pipeline`;
}

async function readPipeline({ pipeline: given, generation }: DeadLetterLocation) {
  if (given === undefined) return null;
  if (!PIPELINE_FILE.test(given)) {
    return { scope: { pipeline: given, generation: generation ?? 0 }, queue: null, own: null };
  }
  const { name, generation: usual, source } = await loadPipeline(given);
  const { queue, own } = source;
  return { scope: { pipeline: name, generation: generation ?? usual }, queue, own };
}

async function allScopes(ledger: Ledger, generation: number | undefined): Promise<LedgerScope[]> {
  const scopes = await ledger.stats();
  return scopes
    .filter((scope) => generation === undefined || scope.generation === generation)
    .map((scope) => ({ pipeline: scope.pipeline, generation: scope.generation }));
}

/** The queue that the dossiers name, if they agree; null without dossiers. */
async function queueInDossiers(ledger: Ledger, scope: LedgerScope): Promise<string | null> {
  const queues = new Set<string>();
  for await (const { queue } of dossiersOf(ledger, scope)) queues.add(queue);
  const [queue, ...others] = queues;
  if (others.length === 0) return queue ?? null;
  throw new TidegateError(
    "TG_CONFIG_INVALID",
    `the dead letters come from several queues (${[...queues].join(", ")}); choose one with --queue`,
  );
}
