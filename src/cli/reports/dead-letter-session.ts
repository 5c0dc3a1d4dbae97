// Dead-letter site: what the dlq commands work on: a ledger, whose dossiers name the pipelines and
// queues, and the queues themselves once they are needed.

import { join } from "node:path";
import { TidegateError } from "../../core/errors.ts";
import { dossiersOf } from "../../ingest/dead-letters/dead-letter-list.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { openAwsEnvironment } from "../../run/open/aws-environment.ts";
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
  /** The pipelines meant: the one that was named, or all that the ledger knows. */
  readonly scopes: readonly LedgerScope[];
  /** The one pipeline meant; refuses where there are several. */
  theScope(): LedgerScope;
  /** Null where nobody knows of a queue: it was not named, and there is no dossier to name it. */
  openQueues(scope: LedgerScope): Promise<{ queue: Queue; deadLetters: Queue | null } | null>;
  close(): Promise<void>;
}

const PIPELINE_FILE = /\.m?[jt]s$/;

export async function openDeadLetterSession(place: DeadLetterLocation): Promise<DeadLetterSession> {
  const named = await readPipeline(place);
  const url = place.ledger ?? `sqlite:${join(place.data ?? "", "ledger.db")}`;
  const ledger = await openLedger(url, systemPorts, { migrate: false });
  const closers: (() => Promise<void>)[] = [() => ledger.close()];
  const scopes = named === null ? await allScopes(ledger, place.generation) : [named.scope];
  return {
    ledger,
    scopes,
    theScope() {
      const [scope, ...others] = scopes;
      if (scope !== undefined && others.length === 0) return scope;
      const known = scopes.map(({ pipeline }) => pipeline).join(", ");
      throw new TidegateError(
        "TG_CONFIG_INVALID",
        `say which pipeline is meant with --pipeline; the ledger knows of ${known || "none"}`,
      );
    },
    async openQueues(scope) {
      const queue = place.queue ?? named?.queue ?? (await queueInDossiers(ledger, scope));
      if (queue === null) return null;
      const environment = await openAwsEnvironment({
        queue,
        deadLetterQueue: place["dead-letter-queue"],
        endpoint: place.endpoint,
        region: place.region,
      });
      closers.push(() => environment.close());
      return { queue: environment.queue, deadLetters: environment.deadLetters };
    },
    async close() {
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
    },
  };
}

async function readPipeline({ pipeline: given, generation }: DeadLetterLocation) {
  if (given === undefined) return null;
  if (!PIPELINE_FILE.test(given)) {
    return { scope: { pipeline: given, generation: generation ?? 0 }, queue: null };
  }
  const { name, generation: own, source } = await loadPipeline(given);
  return { scope: { pipeline: name, generation: generation ?? own }, queue: source.queue };
}

async function allScopes(ledger: Ledger, generation: number | undefined): Promise<LedgerScope[]> {
  const known = await ledger.stats();
  return known
    .filter((scope) => generation === undefined || scope.generation === generation)
    .map((scope) => ({ pipeline: scope.pipeline, generation: scope.generation }));
}

/** The queue that the dossiers came from, if they agree; null if there are none. */
async function queueInDossiers(ledger: Ledger, scope: LedgerScope): Promise<string | null> {
  const queues = new Set<string>();
  for await (const { queue } of dossiersOf(ledger, scope)) queues.add(queue);
  const [queue, ...others] = queues;
  if (others.length === 0) return queue ?? null;
  const known = [...queues].join(", ");
  throw new TidegateError(
    "TG_CONFIG_INVALID",
    `say which queue is meant with --queue: there are ${known}`,
  );
}
