import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startCloud } from "tidegate/cloud";

await using cloud = await startCloud({
  memory: true,
  setup: { queues: [{ name: "orders" }] },
  faults: [
    {
      kind: "drop-acknowledgement",
      target: { queue: "orders" },
      actions: ["SendMessage"],
      probability: 1,
      count: 1,
    },
  ],
});
const sqs = new SQSClient({
  endpoint: cloud.endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});
const QueueUrl = `${cloud.endpoint}/000000000000/orders`;

// The first response is lost after the message is stored, and the SDK retries the send.
await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "order 1" }));

const received = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
console.log(received.Messages?.map(({ Body }) => Body)); // [ 'order 1', 'order 1' ]
