// The resources of the generated Terraform, created on the embedded cloud by the API calls that
// they describe, with policies enforced: the pipeline runs on them, and `infra diff` is silent.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import {
  CreateTopicCommand,
  PublishCommand,
  SNSClient,
  SubscribeCommand,
} from "@aws-sdk/client-sns";
import { GetQueueUrlCommand, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { createProducer, fixedGroups } from "../../../src/api/produce.ts";
import { createDynamoLedger, createDynamoOutbox } from "../../../src/api/stores/dynamodb.ts";
import { createSnsTopic } from "../../../src/aws/sns/sns-topic.ts";
import { createSqsQueue } from "../../../src/aws/sqs/sqs-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { PermanentError, pipeline } from "../../../src/index.ts";
import { infraDifferences } from "../../../src/infra/infra-diff.ts";
import type { InfraPlan } from "../../../src/infra/infra-plan.ts";
import { infraFiles } from "../../../src/operate/infra/infra-files.ts";
import { readLive } from "../../../src/operate/infra/read-live.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { createResources } from "../../support/infra/create-resources.ts";
import { evaluateTerraform } from "../../support/infra/evaluate-terraform.ts";
import { INFRA_PLANS, ROOT_VARIABLES } from "../../support/infra/plans.ts";
import { requirePart } from "../../support/requires.ts";
import { useOwnDynamo } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("terraform-run");
const dynamo = await useOwnDynamo();
const LOCAL = {
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
};
const silent = { onLogLine: () => undefined };

describe.skipIf(!dynamo.available)("the generated resources", () => {
  const { terraform } = requirePart("terraform");

  async function deploy(name: string) {
    const plan = INFRA_PLANS[name] as InfraPlan;
    const own = mkdtempSync(join(folder, "run-"));
    const resources = await evaluateTerraform(terraform, own, infraFiles(plan), ROOT_VARIABLES);
    const cloud = await startCloud({ memory: true, enforcePolicies: true });
    await createResources(resources, { cloud: cloud.endpoint, dynamodb: dynamo.endpoint });
    const config = { ...LOCAL, endpoint: cloud.endpoint };
    const table = `dynamodb://${plan.ledgerTable}?region=us-east-1&endpoint=${dynamo.endpoint}`;
    const settings = {
      endpoint: cloud.endpoint,
      region: "us-east-1",
      queue: plan.queue,
      ledger: plan.ledgerTable === null ? "memory:" : table,
      metricsPort: 0,
    };
    return { plan, cloud, config, settings };
  }

  async function expectNoDifference({ plan, cloud }: Awaited<ReturnType<typeof deploy>>) {
    const dynamoEndpoint = dynamo.endpoint;
    const options = { endpoint: cloud.endpoint, region: "us-east-1", dynamoEndpoint };
    const differences = infraDifferences(plan, await readLive(plan, options));
    // DynamoDB Local does not back up.
    expect(differences.filter(({ setting }) => setting !== "point-in-time recovery")).toEqual([]);
  }

  test("tables are those that ledger and outbox create themselves, with their schema version", async () => {
    const { plan, cloud } = await deploy("messages through a queue, with claim checks");
    await using _cloud = cloud;
    const at = (table: string) => ({ ...LOCAL, table, endpoint: dynamo.endpoint });
    await (await createDynamoLedger(at("own-ledger"))).close();
    await (await createDynamoOutbox(at("own-outbox"))).close();
    const own = { ...plan, ledgerTable: "own-ledger", outboxTable: "own-outbox" };
    const options = { endpoint: cloud.endpoint, region: "us-east-1" };
    const readTables = async (of: InfraPlan) => {
      const live = await readLive(of, { ...options, dynamoEndpoint: dynamo.endpoint });
      return [live.ledgerTable, live.outboxTable];
    };
    expect(await readTables(plan)).toEqual(await readTables(own));
    const keys = [{ pk: { S: "meta#ledger" } }, { pk: { S: "meta#outbox" }, sk: { S: "meta" } }];
    const client = new DynamoDBClient({ ...LOCAL, endpoint: dynamo.endpoint });
    const itemOf = async (TableName: string | null, Key: (typeof keys)[number]) => {
      const command = new GetItemCommand({ TableName: TableName ?? "", Key });
      return (await client.send(command)).Item;
    };
    for (const [at, name] of (["ledgerTable", "outboxTable"] as const).entries()) {
      const key = keys[at] ?? {};
      const item = await itemOf(own[name], key as never);
      expect(item?.version?.N).toMatch(/^\d+$/);
      expect(await itemOf(plan[name], key as never)).toEqual(item);
    }
    client.destroy();
  });

  test("a ledger with lists has the indexes that the store creates, and lists records", async () => {
    const deployed = await deploy("a dispatcher with a late queue and lists");
    await using cloud = deployed.cloud;
    const { plan } = deployed;
    const at = (table: string) => ({ ...LOCAL, table, endpoint: dynamo.endpoint });
    await (await createDynamoLedger({ ...at("own-lists"), listing: true })).close();
    const options = { endpoint: cloud.endpoint, region: "us-east-1" };
    const tables = { ...options, dynamoEndpoint: dynamo.endpoint };
    const live = await readLive(plan, tables);
    const own = await readLive({ ...plan, ledgerTable: "own-lists" }, tables);
    expect(live.ledgerTable).toEqual(own.ledgerTable);
    // Without the right to create tables, and without asking for lists: the table itself says so.
    const table = at(plan.ledgerTable ?? "");
    const ledger = await createDynamoLedger({ ...table, create: false });
    const scope = { pipeline: "days", generation: 0 };
    const page = { after: null, limit: 10 };
    expect(await ledger.listRecords(scope, { by: "event-time" }, page)).toEqual({
      records: [],
      next: null,
    });
    await ledger.close();
    const withoutLists = { ...live.ledgerTable, indexes: {} } as typeof live.ledgerTable;
    const differences = infraDifferences(plan, { ...live, ledgerTable: withoutLists });
    const texts = differences.map(({ resource, setting }) => `${resource}: ${setting}`);
    expect(texts).toEqual(
      expect.arrayContaining([
        "late queue days-late: existence", // Another pipeline's, and not there.
        "table days-ledger: index records-by-object",
      ]),
    );
  });

  const ORDERS = {
    name: "orders",
    source: { bucket: "acme-orders", prefix: "in/" },
    sink: () => undefined,
  } as const;

  test.each(["a bucket through a topic", "a bucket to a queue, with PostgreSQL"])(
    "%s: files are processed once, and a poison file is a dead letter",
    async (name) => {
      const deployed = await deploy(name);
      await using _cloud = deployed.cloud;
      await expectNoDifference(deployed);
      const handled: string[] = [];
      const orders = pipeline({
        ...ORDERS,
        handler(file) {
          if (file.object.key.includes("poison")) throw new PermanentError("poison");
          handled.push(file.object.key);
        },
      });
      const s3 = new S3Client({ ...deployed.config, forcePathStyle: true });
      for (const Key of ["in/a.csv", "in/b.csv", "in/poison.csv", "out/other.csv"]) {
        await s3.send(new PutObjectCommand({ Bucket: "acme-orders", Key, Body: "id\n1\n" }));
      }
      s3.destroy();
      await using running = await startPipeline(orders, deployed.settings, silent);
      await running.idle();
      expect(running.findings).toEqual([]);
      expect(handled.toSorted()).toEqual(["in/a.csv", "in/b.csv"]);
      expect(await running.deadLetterDepth()).toBe(1);
    },
  );

  test("a queue refuses what another topic sends to it", async () => {
    const { plan, cloud, config } = await deploy("a bucket to a queue, with PostgreSQL");
    await using _cloud = cloud;
    const sqs = new SQSClient(config);
    const { QueueUrl = "" } = await sqs.send(new GetQueueUrlCommand({ QueueName: plan.queue }));
    const queue = createSqsQueue({ client: sqs, queueUrl: QueueUrl });
    const before = (await queue.facts()).visible; // The test event of S3.
    const sns = new SNSClient(config);
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: "foreign" }));
    const Endpoint = `arn:aws:sqs:us-east-1:000000000000:${plan.queue}`;
    await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint }));
    await sns.send(new PublishCommand({ TopicArn, Message: "foreign" }));
    sns.destroy();
    const { visible, hidden } = await queue.facts();
    sqs.destroy();
    expect([visible, hidden]).toEqual([before, 0]);
  });

  test("a FIFO topic passes messages on in order", async () => {
    const deployed = await deploy("messages through a FIFO topic, with a customer key, on Lambda");
    await using _cloud = deployed.cloud;
    const { plan, config, settings } = deployed;
    await expectNoDifference(deployed);
    const sns = new SNSClient(config);
    const topicArn = `arn:aws:sns:us-east-1:000000000000:${plan.topic}`;
    const target = createSnsTopic({ client: sns, topicArn });
    const options = { ...LOCAL, table: plan.outboxTable ?? "", endpoint: dynamo.endpoint };
    const outbox = await createDynamoOutbox(options);
    const producer = createProducer({ target, outbox }, { groups: fixedGroups(1) });
    const dedupeKeys = ["one", "two", "three"];
    for (const dedupeKey of dedupeKeys) {
      const event = { source: "acme.tests.fifo", dedupeKey, eventTime: "2026-01-01T00:00:00Z" };
      await producer.send({ ...event, payload: { text: dedupeKey } });
    }
    await producer.close();
    await outbox.close();
    sns.destroy();
    const handled: string[] = [];
    const trips = pipeline({
      name: "trips",
      source: { queue: plan.queue },
      sink: () => undefined,
      handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
    });
    await using running = await startPipeline(trips, settings, silent);
    await running.idle();
    expect([handled, running.findings]).toEqual([dedupeKeys, []]);
  });
});
