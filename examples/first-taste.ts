import { CreateQueueCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startCloud } from "tidegate/cloud";

await using cloud = await startCloud({ memory: true, clock: "virtual" });
const sqs = new SQSClient({
  endpoint: cloud.endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});

const { QueueUrl } = await sqs.send(
  new CreateQueueCommand({ QueueName: "orders.fifo", Attributes: { FifoQueue: "true" } }),
);
const order = {
  QueueUrl,
  MessageBody: "order 1",
  MessageGroupId: "shop-1",
  MessageDeduplicationId: "order-1",
};
const first = await sqs.send(new SendMessageCommand(order));
const again = await sqs.send(new SendMessageCommand(order)); // the same MessageId: a duplicate

await cloud.clock.advance(300_000); // five minutes later, at once
const later = await sqs.send(new SendMessageCommand(order)); // a new message

console.log(again.MessageId === first.MessageId); // true
console.log(later.MessageId === first.MessageId); // false
