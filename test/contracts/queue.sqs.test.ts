import { SQSClient } from "@aws-sdk/client-sqs";
import { afterEach } from "vitest";
import { openSqsQueue } from "../../src/aws/sqs/open-sqs-queue.ts";
import { describeQueue } from "./queue.ts";

const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const clients: SQSClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

describeQueue({
  name: "through the AWS SDK",
  async open({ endpoint }, queue) {
    const region = "us-east-1";
    const client = new SQSClient({ endpoint, region, credentials, maxAttempts: 1 });
    clients.push(client);
    return openSqsQueue({ client, queue });
  },
});
