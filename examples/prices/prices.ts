// Price updates of auto parts on a FIFO topic: what is deduplicated, and why the business type must
// be in the body. Run it: every line it prints comes from a real topic and real queues.

import { PublishCommand, SNSClient } from "@aws-sdk/client-sns";
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { createSnsTopic } from "tidegate/aws/sns";
import { startCloud } from "tidegate/cloud";
import { createProducer, perEntity } from "tidegate/produce";
import { createMemoryOutbox } from "tidegate/stores/memory";

const filterOn = (business: string) => ({ filterPolicy: { business: [business] } });

await using cloud = await startCloud({
  memory: true,
  setup: {
    queues: [{ name: "all.fifo" }, { name: "wholesale.fifo" }, { name: "retail.fifo" }],
    topics: [
      { name: "prices.fifo", fifo: true, attributes: { ContentBasedDeduplication: true } },
      { name: "checked.fifo", fifo: true },
    ],
    subscriptions: [
      { topic: "prices.fifo", queue: "all.fifo", raw: true },
      { topic: "prices.fifo", queue: "wholesale.fifo", raw: true, ...filterOn("wholesale") },
      { topic: "prices.fifo", queue: "retail.fifo", raw: true, ...filterOn("retail") },
      { topic: "checked.fifo", queue: "all.fifo", raw: true },
    ],
  },
});
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const connection = { endpoint: cloud.endpoint, region: "us-east-1", credentials };
const sns = new SNSClient(connection);
const sqs = new SQSClient(connection);
const arnOf = (topic: string) => `arn:aws:sns:us-east-1:000000000000:${topic}`;

async function publish(body: object, business: string, MessageDeduplicationId?: string) {
  await sns.send(
    new PublishCommand({
      TopicArn: arnOf("prices.fifo"),
      Message: JSON.stringify(body),
      MessageGroupId: "brake-pads",
      MessageAttributes: { business: { DataType: "String", StringValue: business } },
      ...(MessageDeduplicationId && { MessageDeduplicationId }),
    }),
  );
}

/** Receives and deletes everything in a queue. */
async function drain(queue: string): Promise<string[]> {
  const QueueUrl = `${cloud.endpoint}/000000000000/${queue}`;
  const bodies: string[] = [];
  for (;;) {
    const receive = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 });
    const { Messages = [] } = await sqs.send(receive);
    if (Messages.length === 0) return bodies;
    for (const { Body = "", ReceiptHandle } of Messages) {
      bodies.push(Body);
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
  }
}

async function report(title: string) {
  console.log(`\n${title}`);
  for (const queue of ["all.fifo", "wholesale.fifo", "retail.fifo"]) {
    const bodies = await drain(queue);
    console.log(`  ${queue.padEnd(15)} ${bodies.length} ${bodies.join(" ")}`.trimEnd());
  }
}

await publish({ product: "BP-1", price: 100 }, "wholesale");
await publish({ product: "BP-1", price: 100 }, "retail");
await report("1. The same body, the business type in the attribute: the topic drops the second");

await publish({ product: "BP-2", price: 100 }, "wholesale", "BP-2/wholesale/100");
await publish({ product: "BP-2", price: 100 }, "retail", "BP-2/retail/100");
await report("2. The same bodies, with a deduplication id each: both arrive");

await publish({ product: "BP-3", price: 100, business: "wholesale" }, "wholesale");
await publish({ product: "BP-3", price: 100, business: "retail" }, "retail");
await report("3. The business type in the body as well: both arrive, without deduplication ids");

const outbox = createMemoryOutbox();
const target = createSnsTopic({ client: sns, topicArn: arnOf("checked.fifo") });
const producer = createProducer(
  { outbox, target },
  { groups: perEntity((e) => String(e.payload.product)) },
);
console.log("\n4. A Tidegate producer: the identity is in the body, and a replay is recognised");
for (const business of ["wholesale", "retail", "retail"]) {
  const { kind } = await producer.send({
    source: "parts.pricing.updates",
    dedupeKey: `BP-4/${business}/2026-02-28`,
    eventTime: "2026-02-28T08:00:00Z",
    payload: { product: "BP-4", price: 100, business },
  });
  console.log(`  ${business.padEnd(15)} ${kind}`);
}
console.log(`  all.fifo        ${(await drain("all.fifo")).length}`);
await producer.close();
await outbox.close();
sns.destroy();
sqs.destroy();
