// AWS site: the queues and buckets of Amazon, or of any endpoint that speaks for them, as a site.
//   A1. The SDK is loaded here and only here, since it is an optional package; without it, the
//       refusal names what to install.
//   A2. Credentials are found as the SDK finds them. An endpoint on this machine gets stand-ins
//       where there are none, as it asks for a signature and looks at no key.

import { TidegateError } from "../../core/errors.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { RunSettings } from "../config.ts";
import { startLeaseThread } from "../leases/lease-thread.ts";
import type { Environment } from "../run-pipeline.ts";
import { localCredentials, parseLedgerUrl } from "./open-ledger.ts";

const PACKAGES = "@aws-sdk/client-sqs @aws-sdk/client-s3";

/** What of a pipeline its site depends on. */
export type EnvironmentPipeline = Pick<Pipeline, "name" | "generation" | "source" | "visibilityMs">;

/** Finds the queue, its dead-letter queue and the bucket of a pipeline. */
export async function openAwsEnvironment(
  pipeline: EnvironmentPipeline,
  settings: RunSettings,
): Promise<Environment> {
  const wanted = settings.queue ?? pipeline.source.queue;
  if (wanted === null) {
    const message =
      "the pipeline names no queue to consume: give --queue, or source.queue in its file";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const { SQSClient, S3Client, ...aws } = await loadSdk();
  const options = clientOptions(settings);
  const sqs = new SQSClient(options);
  const s3 = new S3Client({ ...options, forcePathStyle: settings.endpoint !== undefined });
  const close = async () => {
    sqs.destroy();
    s3.destroy();
  };
  try {
    const queueUrl = await aws.findQueueUrl({ client: sqs, queue: wanted });
    const queue = aws.createSqsQueue({ client: sqs, queueUrl });
    const named = settings.deadLetterQueue ?? (await queue.facts()).redrive?.deadLetterArn;
    const deadLetters: Queue | null =
      named === undefined ? null : await aws.openSqsQueue({ client: sqs, queue: named });
    const objects = aws.createS3ObjectSource({ client: s3 });
    const { name, generation, visibilityMs } = pipeline;
    const terms = { visibilityMs, leaseMs: visibilityMs };
    const scope = { pipeline: name, generation };
    return {
      ...{ queue, deadLetters, objects, close },
      openRenewer(ledger, ledgerUrl, telemetry) {
        if (parseLedgerUrl(ledgerUrl).store === "memory") {
          const ports = { queue, ledger, scope, clock: systemPorts.clock, telemetry };
          return createLeaseRenewer(ports, terms); // A thread has no way to this memory.
        }
        const config = { queue: { ...options, queueUrl }, ledgerUrl, scope, ...terms };
        return startLeaseThread({ telemetry }, config);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function loadSdk() {
  try {
    const [{ SQSClient }, { S3Client }, ...adapters] = await Promise.all([
      import("@aws-sdk/client-sqs"),
      import("@aws-sdk/client-s3"),
      import("../../aws/sqs/open-sqs-queue.ts"),
      import("../../aws/sqs/sqs-queue.ts"),
      import("../../aws/s3/s3-object-source.ts"),
    ]);
    return { SQSClient, S3Client, ...adapters[0], ...adapters[1], ...adapters[2] };
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `running on SQS and S3 needs the AWS SDK: npm install ${PACKAGES}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error }); // A1
  }
}

function clientOptions({ endpoint, region }: RunSettings) {
  const credentials = localCredentials(endpoint); // A2
  const local = "credentials" in credentials;
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined ? { region } : local && { region: "us-east-1" }),
    ...credentials,
  };
}
