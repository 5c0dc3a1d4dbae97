// Open Lambda: what a function runs on: ledger, sink, queues and objects, as in `tidegate run`.
//   O1. Ledger and sink are opened once and shared by all sources (L5 of lambda-handler.ts).
//   O2. In Lambda, a ledger on the function's own disk or in its memory would be lost with the
//       execution environment, and with it the memory of duplicates: it is rejected.
//   O3. Direct events need a dead-letter queue: a message has no queue to stay in.

import { refuseConfig } from "../../core/errors.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import { days, durationMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Sink } from "../../ports/sink.ts";
import type { LogFields, LogLevel, Telemetry } from "../../ports/telemetry.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import type { RunSettings } from "../../run/config.ts";
import { type AwsEnvironment, openAwsEnvironment } from "../../run/open/aws-environment.ts";
import { findServer, type Server } from "../../run/open/find-server.ts";
import { type OpenedArchive, openArchive } from "../../run/open/open-archive.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { openSink } from "../../run/open/open-sink.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";
import { ensureLedgerFolder, prepareRun } from "../../run/prepare-run.ts";
import { createTelemetry } from "../../telemetry/create-telemetry.ts";
import { loadTracing } from "../../telemetry/tracing.ts";
import {
  createLambdaHandler,
  type LambdaHandler,
  type LambdaHost,
  type LambdaSource,
  type PartialFailures,
} from "./lambda-handler.ts";

/** A logger with one method per level, such as the one of Powertools. */
export type LambdaLogger = {
  [Level in LogLevel]: (message: string, fields: Readonly<Record<string, unknown>>) => void;
};

/** The settings of a function. Those that `tidegate run` has, too, mean the same. */
export interface LambdaSettings
  extends Pick<
    RunSettings,
    | "endpoint"
    | "region"
    | "deadLetterQueue"
    | "tablesDatabase"
    | "logLevel"
    | "generation"
    | "ledgerRetentionDays"
    | "acceptClock"
  > {
  /** `dynamodb://table` or `postgres://…`; `sqlite:path` and `memory:` in tests only. */
  readonly ledger: string;
  /** Receives log lines. Default: JSON lines on standard output. */
  readonly logger?: LambdaLogger;
  /**
   * Milliseconds at the end of an invocation in which nothing is attempted. Default: a tenth of the
   * invocation's time, from 500 to 5,000.
   */
  readonly settleMs?: number;
  /**
   * How a batch is answered of which some messages are not done: "report" returns their ids, which
   * needs ReportBatchItemFailures in the event source mapping. "throw" deletes the others itself and
   * fails the invocation. Default: "report".
   */
  readonly partialFailures?: PartialFailures;
}

/** Creates the handler of a function that runs `pipeline`. */
export function lambdaHandler(pipeline: Pipeline, settings: LambdaSettings): LambdaHandler {
  if (pipeline?.kind !== "tidegate-pipeline") {
    refuseConfig("lambdaHandler() needs the value that pipeline() returned");
  }
  if (typeof settings?.ledger !== "string" || settings.ledger === "") {
    refuseConfig('lambdaHandler() needs a ledger, such as { ledger: "dynamodb://table" }');
  }
  const { store } = parseStoreUrl(settings.ledger, "ledger");
  const isLocal = store === "sqlite" || store === "memory";
  if (isLocal && process.env.AWS_LAMBDA_FUNCTION_NAME !== undefined) {
    const lost = "is lost with the execution environment, and duplicates would be processed again";
    refuseConfig(`a ${store} ledger ${lost}; use dynamodb://table or postgres://…`); // O2
  }
  const { ledger, logger, settleMs, partialFailures = "report", ...given } = settings;
  if (settleMs !== undefined && !(Number.isSafeInteger(settleMs) && settleMs >= 0)) {
    refuseConfig(`settleMs is ${settleMs}; use a whole number of milliseconds`);
  }
  const run = prepareRun("run", pipeline, { ...given, ledger });
  const host = createHost(run.pipeline, settings);
  return createLambdaHandler(
    run.pipeline,
    {
      partialFailures,
      ...(settleMs !== undefined && { settleMs: durationMs(settleMs) }),
    },
    host,
  );
}

interface Opened {
  readonly ledger: Ledger;
  readonly sink: Sink | null;
  readonly archive: OpenedArchive;
  readonly telemetry: Telemetry;
}

function createHost(pipeline: Pipeline, settings: LambdaSettings): LambdaHost {
  const runId = systemPorts.random.uuid();
  const environments: AwsEnvironment[] = [];
  let opened: Promise<Opened> | null = null;
  const open = () => {
    opened ??= openAll(pipeline, settings, runId).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  return {
    clock: systemPorts.clock,
    open: async () => void (await open()),
    async openSource(arn, functionName): Promise<LambdaSource> {
      const { ledger, sink, archive: opened, telemetry } = await open();
      const { archive } = opened;
      const environment = await openEnvironment(arn, settings);
      environments.push(environment);
      const { queue, deadLetters, objects } = environment;
      const rows = createRowReader(systemPorts);
      const direct = { name: functionName, fifo: false };
      return {
        ports: { ...systemPorts, ledger, sink, archive, deadLetters, objects, rows, telemetry },
        queue: arn === null ? direct : queue,
        settling: arn === null ? null : queue,
        owner: `lambda:${functionName}:${runId.slice(0, 8)}`,
        runId,
      };
    },
    async close() {
      for (const environment of environments.splice(0)) await environment.close();
      const all = await opened?.catch(() => null);
      opened = null;
      await all?.archive.close();
      await all?.sink?.close();
      await all?.ledger.close();
    },
  };
}

async function openAll(
  pipeline: Pipeline,
  settings: LambdaSettings,
  runId: string,
): Promise<Opened> {
  const { acceptClock = false, ledger: url } = settings;
  const telemetry = await openTelemetry(pipeline, settings, runId);
  ensureLedgerFolder(url);
  const retentionMs = days(pipeline.retention.ledgerDays);
  const ledger = await openLedger(url, systemPorts, { retentionMs, acceptClock });
  try {
    const sink = await openSink(pipeline, ledger, parseStoreUrl(url, "ledger"));
    const archive = await openArchive(pipeline, await serverOf(settings));
    return { ledger, sink, archive, telemetry };
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

async function openTelemetry(
  { name }: Pipeline,
  { logLevel: level = "info", logger }: LambdaSettings,
  runId: string,
): Promise<Telemetry> {
  const fields = { pipeline: name, run_id: runId };
  const telemetry = createTelemetry({
    metrics: [CONSUMER_METRICS],
    clock: systemPorts.clock,
    logs: logger === undefined ? { level, to: 1, fields } : null,
    tracing: await loadTracing("tidegate"),
  });
  if (logger === undefined) return telemetry;
  return {
    ...telemetry,
    log: (lineLevel, message, more) => logger[lineLevel](message, present({ ...fields, ...more })),
  };
}

function present(fields: LogFields): Record<string, unknown> {
  const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(given);
}

/** A function has no data folder (F3 of find-server.ts). */
function serverOf({ endpoint, region }: LambdaSettings): Promise<Server> {
  return findServer({ endpoint, region, data: null });
}

async function openEnvironment(
  arn: string | null,
  settings: LambdaSettings,
): Promise<AwsEnvironment> {
  const { deadLetterQueue } = settings;
  const server = await serverOf(settings);
  if (arn !== null) {
    const region = server.region ?? parseQueueArn(arn)?.region;
    return openAwsEnvironment({ queue: arn, deadLetterQueue, server: { ...server, region } });
  }
  if (deadLetterQueue === undefined) {
    refuseConfig(
      "events that S3 or SNS send directly have no queue to stay in; set deadLetterQueue in the " +
        "settings of lambdaHandler()", // O3
    );
  }
  return openAwsEnvironment({ queue: deadLetterQueue, deadLetterQueue, server });
}
