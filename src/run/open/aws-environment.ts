// AWS environment: the queues and objects of AWS, or of any endpoint that is compatible with it.
//   A1. The SDK is an optional package and is loaded only here. If it is missing, the error names
//       the packages to install.
//   A2. The SDK finds the credentials. An endpoint on this machine gets placeholder credentials if
//       there are none: it requires a signature and checks no key.

import { TidegateError } from "../../core/errors.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { LeaseThreadConfig } from "../leases/lease-thread.ts";
import type { Environment } from "./environment.ts";
import { localCredentials } from "./store-url.ts";

const PACKAGES = "@aws-sdk/client-sqs @aws-sdk/client-s3";

export interface AwsEnvironmentOptions {
  /** Name, URL or ARN of the queue to consume. */
  readonly queue: string;
  /** Default: the dead-letter queue of the redrive policy. */
  readonly deadLetterQueue?: string | undefined;
  /** Default: AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

export interface AwsEnvironment extends Environment {
  readonly objects: NonNullable<Environment["objects"]>;
  /** How another thread connects to the queue. */
  readonly connection: LeaseThreadConfig["queue"];
}

/** Opens a queue, its dead-letter queue and the objects that its messages refer to. */
export async function openAwsEnvironment(options: AwsEnvironmentOptions): Promise<AwsEnvironment> {
  const { SQSClient, S3Client, ...aws } = await loadSdk();
  const client = clientOptions(options);
  const sqs = new SQSClient(client);
  const s3 = new S3Client({ ...client, forcePathStyle: options.endpoint !== undefined });
  const close = async () => {
    sqs.destroy();
    s3.destroy();
  };
  try {
    const queueUrl = await aws.findQueueUrl({ client: sqs, queue: options.queue });
    const queue = aws.createSqsQueue({ client: sqs, queueUrl });
    const name = options.deadLetterQueue ?? (await queue.facts()).redrive?.deadLetterArn;
    const deadLetters: Queue | null =
      name === undefined ? null : await aws.openSqsQueue({ client: sqs, queue: name });
    const objects = aws.createS3ObjectSource({ client: s3 });
    return { queue, deadLetters, objects, connection: { ...client, queueUrl }, close };
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
    const message = `SQS and S3 need the AWS SDK: npm install ${PACKAGES}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error }); // A1
  }
}

function clientOptions({ endpoint, region }: AwsEnvironmentOptions) {
  const credentials = localCredentials(endpoint); // A2
  const local = "credentials" in credentials;
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined ? { region } : local && { region: "us-east-1" }),
    ...credentials,
  };
}
