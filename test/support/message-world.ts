// Message world: a pipeline of own messages in an embedded cloud of this process, which archives
// them, and its replays.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQS } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import { type Pipeline, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import { startDev } from "../../src/run/dev/start-dev.ts";
import { openReplays, type ReplayWhere } from "./operated.ts";
import { now } from "./replay-world.ts";
import { createS3Client } from "./s3-buckets.ts";

/** The bucket of archived messages. */
export const ARCHIVE = "kept";

export interface Order {
  readonly id: string;
  readonly amount: number;
  readonly card?: string;
}

export function messagesPipeline(factor: number, more: object = {}): Pipeline {
  return pipeline({
    name: "orders",
    source: { queue: "orders", key: (order) => (order as unknown as Order).id },
    archive: { bucket: ARCHIVE },
    sink: tables({
      orders: { columns: { id: "text", amount: "integer", facts: "text" }, key: ["id"] },
    }),
    handler({ body, attributes, messageId }, { upsert, uuid }) {
      const { id, amount, card = "" } = body as unknown as Order;
      const facts = [attributes.tenant, messageId.length, card, uuid()].join(" ");
      if (amount * factor >= 0) upsert("orders", { id, amount: amount * factor, facts });
    },
    ...more,
  });
}

export async function startMessageWorld(data: string, of: Pipeline) {
  const dev = await startDev(of, { data, port: 0 }, { onLogLine: () => {} });
  const ledger = `sqlite:${join(data, "ledger.db")}`;
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const sqs = new SQS({ endpoint: dev.endpoint, region: "us-east-1", credentials });
  const s3 = createS3Client(dev.endpoint);
  const { QueueUrl } = await sqs.getQueueUrl({ QueueName: of.source.queue ?? "" });
  const rows = () => {
    const db = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
    const all = db.prepare("SELECT id, amount, facts FROM orders ORDER BY id").all();
    db.close();
    return all.map(({ id, amount, facts }) => ({ id, amount, facts: String(facts) }));
  };
  return {
    ledger,
    dev,
    s3,
    rows,
    amounts: () => rows().map(({ id, amount }) => `${id}=${amount}`),
    async send(body: object, done = 1) {
      const committed = () => dev.snapshot().committed + dev.snapshot().deadLettered;
      const goal = committed() + done;
      const MessageAttributes = { tenant: { DataType: "String", StringValue: "t1" } };
      await sqs.sendMessage({ QueueUrl, MessageBody: JSON.stringify(body), MessageAttributes });
      await expect.poll(committed).toBe(goal);
    },
    async archived() {
      const { Contents = [] } = await s3.listObjectsV2({ Bucket: ARCHIVE });
      return Contents.map(({ Key = "" }) => Key);
    },
    replays: (fixed: Pipeline, more: ReplayWhere = {}) =>
      openReplays(fixed, { ledger, endpoint: dev.endpoint, ...more }),
    request: () =>
      ({ from: epochMs(0), to: now(), bucket: null, prefix: null, into: "shadow" }) as const,
    [Symbol.asyncDispose]: () => dev[Symbol.asyncDispose](),
  };
}
