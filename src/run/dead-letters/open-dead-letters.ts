// Open dead letters: finds the ledger and the queues of a pipeline's dead letters.
//   O1. Ledger and queues that the caller passes stay open; only those opened here are closed.
//   O2. The source queue is the one that the caller names, else the pipeline's, else the one that
//       all dossiers name.

import { TidegateError } from "../../core/errors.ts";
import {
  createDeadLetterAccess,
  type DeadLetterQueues,
  type DeadLetters,
} from "../../ingest/dead-letters/dead-letter-access.ts";
import { dossiersOf } from "../../ingest/dead-letters/dossier-list.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { openAwsEnvironment } from "../open/aws-environment.ts";
import { findServer, ledgerUrl } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";

/** Which dead letters to open, and where ledger and queues are. */
export interface OpenDeadLettersOptions {
  /** The pipeline, or its name. */
  readonly pipeline: Pipeline | string;
  /** Default: the pipeline's, or 0. */
  readonly generation?: number;
  /** A ledger URL, or an open ledger. Default: ledger.db in the data folder. */
  readonly ledger?: string | Ledger;
  /** Folder of the default ledger, and of a cloud that may be running. Default: ".tidegate". */
  readonly data?: string;
  /** Name, URL or ARN of the source queue, or the queue. Default: see O2. */
  readonly queue?: string | Queue;
  /** Name, URL or ARN of the dead-letter queue, or the queue. Default: by the redrive policy. */
  readonly deadLetterQueue?: string | Queue;
  /** SQS endpoint. Default: AWS_ENDPOINT_URL, else the cloud that runs on `data`, else AWS. */
  readonly endpoint?: string;
  readonly region?: string;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Dead letters of one pipeline. Close it to release ledger and queues. */
export interface OpenedDeadLetters extends DeadLetters, AsyncDisposable {
  close(): Promise<void>;
}

/** Opens the dead letters of a pipeline. `await using` closes them at the end of the block. */
export async function openDeadLetters(options: OpenDeadLettersOptions): Promise<OpenedDeadLetters> {
  const { clock = systemPorts.clock, random = systemPorts.random } = options;
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (let next = closers.pop(); next !== undefined; next = closers.pop()) await next();
  };
  const ledger = await ledgerOf(options, closers);
  const scope = scopeOf(options);
  const openQueues = async () => {
    const { queues, close: closeQueues } = await queuesOf(options, ledger, scope);
    closers.push(closeQueues);
    return queues;
  };
  const own = typeof options.pipeline === "string" ? null : options.pipeline.source.own;
  const access = createDeadLetterAccess({ clock, random, ledger }, { scope, own, openQueues });
  return { ...access, close, [Symbol.asyncDispose]: close };
}

function scopeOf({ pipeline, generation }: OpenDeadLettersOptions): LedgerScope {
  const named = typeof pipeline === "string" ? { name: pipeline, generation: 0 } : pipeline;
  return { pipeline: named.name, generation: generation ?? named.generation };
}

async function ledgerOf(
  options: OpenDeadLettersOptions,
  closers: (() => Promise<void>)[],
): Promise<Ledger> {
  const { ledger, data } = options;
  if (ledger !== undefined && typeof ledger !== "string") return ledger; // O1
  const opened = await openLedger(ledgerUrl({ ledger, data }), systemPorts, { migrate: false });
  closers.push(() => opened.close());
  return opened;
}

interface OpenedQueues {
  readonly queues: DeadLetterQueues | null;
  close(): Promise<void>;
}

async function queuesOf(
  options: OpenDeadLettersOptions,
  ledger: Ledger,
  scope: LedgerScope,
): Promise<OpenedQueues> {
  const { pipeline, queue, deadLetterQueue } = options;
  if (queue !== undefined && typeof queue !== "string") {
    if (typeof deadLetterQueue === "string") {
      refuse("deadLetterQueue is a name, but queue is an open queue: pass both the same way");
    }
    return { queues: { queue, deadLetters: deadLetterQueue ?? null }, close: async () => {} };
  }
  if (deadLetterQueue !== undefined && typeof deadLetterQueue !== "string") {
    refuse("deadLetterQueue is an open queue, but queue is not: pass both the same way");
  }
  const ofPipeline = typeof pipeline === "string" ? null : pipeline.source.queue;
  const name = queue ?? ofPipeline ?? (await queueOfDossiers(ledger, scope)); // O2
  if (name === null) return { queues: null, close: async () => {} };
  const server = await findServer(options);
  const environment = await openAwsEnvironment({ queue: name, deadLetterQueue, server });
  return {
    queues: { queue: environment.queue, deadLetters: environment.deadLetters },
    close: () => environment.close(),
  };
}

async function queueOfDossiers(ledger: Ledger, scope: LedgerScope): Promise<string | null> {
  const queues = new Set<string>();
  for await (const { queue } of dossiersOf(ledger, scope)) queues.add(queue);
  const [queue = null, ...others] = queues;
  if (others.length === 0) return queue;
  return refuse(`dead letters of several queues (${[...queues].join(", ")}): choose one by queue`);
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
