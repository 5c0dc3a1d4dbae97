// AWS environment: the queues and objects of AWS, or of any endpoint that is compatible with it.
//   A1. The SDK is an optional package and is loaded only here. If it is missing, the error names
//       the packages to install.
//   A2. The SDK finds the credentials. An endpoint on this machine gets placeholder credentials if
//       there are none: it requires a signature and checks no key.
//   A3. Queues and objects may be on different servers (F2 of find-server.ts).
//   A4. If a queue is missing, refused or does not answer, the error names the server and why it
//       was asked: a wrong endpoint is the usual cause.

import { TidegateError } from "../../core/errors.ts";
import type { ObjectLister } from "../../ports/objects/object-lister.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { ObjectWriter } from "../../ports/objects/object-writer.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { LeaseThreadConfig } from "../leases/lease-thread.ts";
import type { Environment } from "./environment.ts";
import { clientOptions, describeServer, type Server } from "./find-server.ts";
import { openLater } from "./late-queue.ts";
import { looksAt } from "./look-at-queues.ts";

const PACKAGES = "@aws-sdk/client-sqs @aws-sdk/client-s3";

export interface AwsEnvironmentOptions {
  /** Name, URL or ARN of the queue to consume. */
  readonly queue: string;
  /** Default: the dead-letter queue of the redrive policy. */
  readonly deadLetterQueue?: string | undefined;
  /** The queue of `eventTime.late`; opened when it is first used. */
  readonly lateQueue?: string | undefined;
  readonly server: Server;
}

export interface AwsEnvironment extends Environment {
  readonly objects: NonNullable<Environment["objects"]>;
  readonly looks: NonNullable<Environment["looks"]>;
  /** How another thread connects to the queue. */
  readonly connection: LeaseThreadConfig["queue"];
}

/** Opens a queue, its dead-letter queue and the objects that its messages refer to. */
export async function openAwsEnvironment(options: AwsEnvironmentOptions): Promise<AwsEnvironment> {
  const { S3Client, ...aws } = await loadSdk();
  const client = clientOptions("SQS", options.server);
  const objectClient = clientOptions("S3", options.server); // A3
  const sqs = aws.createConsumerClient(client);
  const s3 = new S3Client({ ...objectClient, forcePathStyle: "endpoint" in objectClient });
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
    const openLate = (late: string) => aws.openSqsQueue({ client: sqs, queue: late });
    const { lateQueue: late } = options;
    const lateQueue = late === undefined ? null : openLater(late, () => openLate(late));
    const looks = async (max?: number) => {
      const late = await openedLate(options.lateQueue, openLate);
      const queues = [queue, deadLetters, late].filter((each) => each !== null);
      return looksAt(client.endpoint, queues, deadLetters?.name ?? null, max);
    };
    const connection = { ...client, queueUrl };
    return { queue, deadLetters, lateQueue, looks, objects, connection, close };
  } catch (error) {
    await close();
    throw error instanceof TidegateError ? located(error, options) : error;
  }
}

/** A4 */
function located(error: TidegateError, { queue, server }: AwsEnvironmentOptions): TidegateError {
  const { code, message, cause } = error;
  if (code !== "TG_QUEUE_REFUSED" && code !== "TG_QUEUE_UNAVAILABLE") return error;
  const isUrl = /^https?:\/\//.test(queue); // The SDK sends to the server of the URL.
  const where = isUrl ? `at ${queue}` : describeServer("SQS", server);
  return new TidegateError(code, `${message} (${where})`, { cause });
}

/** Opens objects without a queue, for callers that read some of their own. */
export async function openAwsObjects(server: Server): Promise<ObjectSource> {
  const { S3Client, createS3ObjectSource } = await loadSdk();
  const client = clientOptions("S3", server);
  return createS3ObjectSource({
    client: new S3Client({ ...client, forcePathStyle: "endpoint" in client }),
  });
}

/** Opens the listings of buckets. */
export async function openAwsLister(
  server: Server,
): Promise<{ readonly lister: ObjectLister; close(): void }> {
  const { S3Client } = await loadSdk();
  const { createS3ObjectLister } = await import("../../aws/s3/s3-object-lister.ts");
  const given = clientOptions("S3", server);
  const client = new S3Client({ ...given, forcePathStyle: "endpoint" in given });
  return { lister: createS3ObjectLister({ client }), close: () => client.destroy() };
}

/** Opens conditional writes of objects. */
export async function openAwsWriter(
  server: Server,
): Promise<{ readonly writer: ObjectWriter; close(): void }> {
  const { S3Client } = await loadSdk();
  const { createS3ObjectWriter } = await import("../../aws/s3/s3-object-writer.ts");
  const given = clientOptions("S3", server);
  const client = new S3Client({ ...given, forcePathStyle: "endpoint" in given });
  return { writer: createS3ObjectWriter({ client }), close: () => client.destroy() };
}

/** The late queue; null without one, or while it does not exist. */
async function openedLate(
  queue: string | undefined,
  open: (queue: string) => Promise<Queue>,
): Promise<Queue | null> {
  if (queue === undefined) return null;
  try {
    return await open(queue);
  } catch (error) {
    if (error instanceof TidegateError && error.code === "TG_QUEUE_REFUSED") return null;
    throw error;
  }
}

async function loadSdk() {
  try {
    const [{ S3Client }, ...adapters] = await Promise.all([
      import("@aws-sdk/client-s3"),
      import("../../aws/sqs/consumer-client.ts"),
      import("../../aws/sqs/open-sqs-queue.ts"),
      import("../../aws/sqs/sqs-queue.ts"),
      import("../../aws/s3/s3-object-source.ts"),
    ]);
    return { S3Client, ...adapters[0], ...adapters[1], ...adapters[2], ...adapters[3] };
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `SQS and S3 need the AWS SDK: npm install ${PACKAGES}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error }); // A1
  }
}
