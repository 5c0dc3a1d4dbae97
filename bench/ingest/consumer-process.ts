// A consumer in its own process, over HTTP with the AWS SDK: Tidegate's, as `tidegate run` builds
// it, or sqs-consumer. Its parent starts each round and gets a message when it is over.

import { SQSClient } from "@aws-sdk/client-sqs";
import { Consumer, type ConsumerOptions } from "sqs-consumer";
import { openAwsRenewer } from "../../src/run/leases/open-renewer.ts";
import { openAwsEnvironment } from "../../src/run/open/aws-environment.ts";
import { ensureLedgerFolder, prepareRun } from "../../src/run/prepare-run.ts";
import { runPipeline } from "../../src/run/run-pipeline.ts";
import { GatedQueue, type RoundReport, timed } from "./gated-queue.ts";
import { pipelineOf } from "./workload.ts";

export type Contestant = "ours" | "ours-receipt" | "ours-ten" | "batch" | "default";

export interface ConsumerConfig {
  readonly contestant: Contestant;
  readonly endpoint: string;
  readonly queueUrl: string;
  readonly folder: string;
  readonly concurrency: number;
}

interface Runner {
  readonly handled: () => number;
  round(count: number): Promise<RoundReport>;
  close(): Promise<void>;
}

async function openOurs(config: ConsumerConfig): Promise<Runner> {
  const { endpoint, queueUrl, folder, contestant } = config;
  const concurrency = contestant === "ours-ten" ? 10 : config.concurrency;
  let handled = 0;
  const onHandled = () => {
    handled += 1;
  };
  const workload = contestant === "ours-receipt" ? "receipt" : "claim";
  const pipeline = pipelineOf(workload, { queue: queueUrl, concurrency, onHandled });
  const prepared = prepareRun("run", pipeline, { endpoint, data: folder, metricsPort: 0 });
  ensureLedgerFolder(prepared.settings.ledger);
  const environment = await openAwsEnvironment({
    queue: queueUrl,
    server: { endpoint, cloud: null },
  });
  const gated = new GatedQueue(environment.queue);
  const running = await runPipeline(
    prepared,
    {
      environment: { ...environment, queue: gated.queue },
      openRenewer: openAwsRenewer.bind(null, environment),
    },
    { onLogLine: () => {} },
  );
  return {
    handled: () => handled,
    round: (count) => gated.round(count),
    close: () => running.drain(),
  };
}

/** The peer as its own guide shows it; in batch mode with the largest batch of SQS. */
function openPeer({ contestant, endpoint, queueUrl }: ConsumerConfig): Runner {
  const credentials = { accessKeyId: "bench", secretAccessKey: "bench" };
  const sqs = new SQSClient({ endpoint, region: "us-east-1", credentials });
  let handled = 0;
  let deleted = 0;
  let wanted = 0;
  let onDone: () => void = () => {};
  let requests: Record<string, number> = {};
  const mode: Pick<ConsumerOptions, "batchSize" | "handleMessage" | "handleMessageBatch"> =
    contestant === "batch"
      ? {
          batchSize: 10,
          handleMessageBatch: async (messages) => {
            handled += messages.length;
            return messages;
          },
        }
      : {
          handleMessage: async (message) => {
            handled += 1;
            return message;
          },
        };
  sqs.middlewareStack.add(
    (next, { commandName = "" }) =>
      (args) => {
        const action = commandName.replace("Command", "");
        requests[action] = (requests[action] ?? 0) + 1;
        return next(args);
      },
    { step: "initialize" },
  );
  const consumer = Consumer.create({ queueUrl, sqs, ...mode });
  consumer.on("error", (error) => console.error(error));
  consumer.on("processing_error", (error) => console.error(error));
  consumer.on("message_processed", () => {
    deleted += 1;
    if (deleted >= wanted) onDone();
  });
  return {
    handled: () => handled,
    round: (count) =>
      timed(async () => {
        requests = {};
        deleted = 0;
        wanted = count;
        await new Promise<void>((resolve) => {
          onDone = resolve;
          consumer.start();
        });
        consumer.stop({ abort: true });
        return requests;
      }),
    async close() {
      sqs.destroy();
    },
  };
}

const config = JSON.parse(process.argv[2] ?? "") as ConsumerConfig;
const isPeer = config.contestant === "batch" || config.contestant === "default";
const runner = await (isPeer ? openPeer(config) : openOurs(config));
process.on("message", async (order: { readonly round: number } | "end") => {
  if (order === "end") {
    await runner.close();
    process.exit(0);
  }
  const before = runner.handled();
  const report = await runner.round(order.round);
  process.send?.({ ...report, handled: runner.handled() - before });
});
process.send?.("ready");
