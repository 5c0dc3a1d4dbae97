// Open completeness: up to which event time a pipeline is complete, asked from outside of it.
//   O1. With a pipeline, its queues are looked at; a pipeline's name alone has only the ledger's
//       answer, which does not know messages that were never received.

import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, seconds } from "../../core/units.ts";
import { type Completeness, readCompleteness } from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { openAwsEnvironment } from "../open/aws-environment.ts";
import { findServer, ledgerUrl } from "../open/find-server.ts";
import { openLedger } from "../open/open-ledger.ts";

const POLL_MS: DurationMs = seconds(1);

/** Which pipeline, and where its ledger and queues are. */
export interface CompletenessOptions {
  /** A ledger URL, or an open ledger. Default: ledger.db in the data folder. */
  readonly ledger?: string | Ledger | undefined;
  /** Folder of the default ledger, and of a cloud that may be running. Default: ".tidegate". */
  readonly data?: string | undefined;
  /** Name, URL or ARN of the queue. Default: the pipeline's. */
  readonly queue?: string | undefined;
  readonly deadLetterQueue?: string | undefined;
  /** SQS endpoint. Default: AWS_ENDPOINT_URL, else the cloud that runs on `data`, else AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

/** Open ledger and queues. Close it to release them. */
export interface OpenedCompleteness extends AsyncDisposable {
  completeUpTo(): Promise<Completeness>;
  /** Resolves when every record before `at` is settled; rejects when `signal` aborts. */
  waitUntil(at: number, signal?: AbortSignal): Promise<Completeness>;
  close(): Promise<void>;
}

/** Opens ledger and queues of a pipeline to ask up to where it is complete (O1). */
export async function openCompleteness(
  pipeline: Pipeline,
  options: CompletenessOptions = {},
): Promise<OpenedCompleteness> {
  const { ledger: given, data, deadLetterQueue } = options;
  const isOpen = given !== undefined && typeof given !== "string";
  const queue = options.queue ?? pipeline.source.queue;
  if (queue === null) {
    throw new TidegateError("TG_CONFIG_INVALID", "the pipeline has no queue; name it with --queue");
  }
  const ledger = isOpen
    ? given
    : await openLedger(ledgerUrl({ ledger: given, data }), systemPorts, { readOnly: true });
  const closeLedger = async () => {
    if (!isOpen) await ledger.close();
  };
  const lateQueue = lateQueueOf(pipeline);
  const environment = await findServer(options)
    .then((server) => openAwsEnvironment({ queue, deadLetterQueue, lateQueue, server }))
    .catch(async (error: unknown) => {
      await closeLedger();
      throw error;
    });
  const completeUpTo = async () => {
    const looks = await environment.looks();
    const ports = { ...systemPorts, ledger, looks, objects: environment.objects };
    return readCompleteness(ports, pipeline);
  };
  const close = async () => {
    await environment.close();
    await closeLedger();
  };
  return {
    completeUpTo,
    async waitUntil(at, signal) {
      for (;;) {
        signal?.throwIfAborted();
        const completeness = await completeUpTo();
        if (completeness.at !== null && completeness.at >= at) return completeness;
        await systemPorts.clock.sleep(POLL_MS, signal);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function lateQueueOf({ late }: Pipeline): string | undefined {
  return typeof late === "object" ? late.queue : undefined;
}
