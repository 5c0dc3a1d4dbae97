import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "tidegate/aws/sqs";
import { startCloud } from "tidegate/cloud";
import { createProducer, PRODUCER_METRICS } from "tidegate/produce";
import { createMemoryOutbox } from "tidegate/stores/memory";
import { createTelemetry, loadTracing } from "tidegate/telemetry";

await using cloud = await startCloud({ memory: true });
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const client = new SQSClient({ endpoint: cloud.endpoint, region: "us-east-1", credentials });
const { QueueUrl = "" } = await client.send(new CreateQueueCommand({ QueueName: "scenes" }));

const telemetry = createTelemetry({
  metrics: [PRODUCER_METRICS],
  logs: { level: "info", fields: { run_id: "run-7" } },
  tracing: await loadTracing("scenes"), // spans, if this process has an OpenTelemetry SDK
});
const target = createSqsQueue({ client, queueUrl: QueueUrl });
const producer = createProducer({ outbox: createMemoryOutbox(), target, telemetry });

const scene = {
  source: "kfm.remote-sensing.landsat",
  dedupeKey: "landsat/p32r29/2026-11-15T08:00Z",
  eventTime: "2026-11-15T08:00:00Z",
  payload: { tile: "p32r29" },
};
const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
await producer.send({ ...scene, trace: { traceparent, tracestate: null } });
await producer.send(scene); // a duplicate: counted, not sent

const received = await client.send(
  new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ["traceparent"] }),
);
const traceContext = received.Messages?.[0]?.MessageAttributes?.traceparent?.StringValue;
telemetry.log("info", "received", { trace_id: traceContext?.split("-")[1] });
console.log(telemetry.metricsText().match(/^sqs_fifo_dedupe_window_hits_total .*$/m)?.[0]);

await producer.close();
client.destroy();
