import { CreateQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "tidegate/aws/sqs";
import { startCloud } from "tidegate/cloud";
import { createProducer, perEntity } from "tidegate/produce";
import { createSqliteOutbox } from "tidegate/stores/sqlite";

await using cloud = await startCloud({ memory: true });
const client = new SQSClient({
  endpoint: cloud.endpoint, // omit it to use AWS
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});
const { QueueUrl = "" } = await client.send(
  new CreateQueueCommand({ QueueName: "scenes.fifo", Attributes: { FifoQueue: "true" } }),
);

const outbox = createSqliteOutbox({ path: process.argv[2] ?? "outbox.db" });
const producer = createProducer(
  { outbox, target: createSqsQueue({ client, queueUrl: QueueUrl }) },
  { owner: "scenes-1", groups: perEntity(({ payload }) => String(payload.tile)) },
);

const scene = {
  source: "kfm.remote-sensing.landsat",
  dedupeKey: "landsat/p32r29/2026-11-15T08:00Z",
  eventTime: "2026-11-15T08:00:00Z",
  payload: { tile: "p32r29", bands: { red: 4, green: 3 } },
};
console.log((await producer.send(scene)).kind); // sent
console.log((await producer.send(scene)).kind); // already-sent

const other = { ...scene, payload: { tile: "p32r30" } };
await producer.send(other).catch((error) => console.log(error.code)); // TG_DEDUPE_KEY_REUSED

await producer.close();
await outbox.close();
client.destroy();
