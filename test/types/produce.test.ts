// Types of `tidegate/produce` and the stores. The compiler checks them (`npm run types`).

import { SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "tidegate/aws/sqs";
import { startCloud } from "tidegate/cloud";
import {
  type BatchReport,
  createBatches,
  createJobRegistry,
  createProducer,
  createRelay,
  createSweeper,
  type Job,
  type OwnMessage,
  PRODUCER_METRICS,
  perEntity,
  type SendResult,
  type SweeperPorts,
} from "tidegate/produce";
import { createDynamoLedger, createDynamoOutbox } from "tidegate/stores/dynamodb";
import { createMemoryLedger, createMemoryOutbox } from "tidegate/stores/memory";
import { createPostgresLedger, createPostgresOutbox } from "tidegate/stores/postgres";
import { createSqliteLedger, createSqliteOutbox } from "tidegate/stores/sqlite";
import { createTelemetry, type ProcessTelemetry } from "tidegate/telemetry";
import { expect, expectTypeOf, test } from "vitest";

const queueUrl = "http://127.0.0.1:1/000000000000/q";
const target = createSqsQueue({ client: new SQSClient({ region: "us-east-1" }), queueUrl });
const scope = { pipeline: "p", generation: 0 };

test("producers, relays, sweepers and registries need no clock, random numbers or turns", () => {
  const outbox = createMemoryOutbox();
  const ledger = createMemoryLedger();
  const producer = createProducer(
    { outbox, target },
    { owner: "me", groups: perEntity(({ payload }) => String(payload.id)) },
  );
  expectTypeOf(producer.send).returns.resolves.toEqualTypeOf<SendResult>();
  type Sendable = Parameters<typeof producer.send>[0];
  expectTypeOf<Exclude<Sendable, OwnMessage>>().toExtend<{ eventTime: number | string }>();
  expectTypeOf<{ key: string; body: { FileID: string } }>().toExtend<Sendable>();
  const groups = () => "all";
  const batches = createBatches({ outbox, target, ledger }, { scope, groups });
  expectTypeOf(batches.register).parameter(0).toBeString();
  createRelay({ outbox, target }, { intervalMs: 1_000 });
  createSweeper({ outbox, target, ledger }, { scope, stuckAfterMs: 3_600_000 });
  const registry = createJobRegistry({ outbox, ledger }, { target: "q", scope });
  expectTypeOf(registry.batch).returns.resolves.toEqualTypeOf<BatchReport | undefined>();
  expectTypeOf(registry.find).returns.resolves.toEqualTypeOf<Job | undefined>();
});

test("the result of a send tells sent from already sent", () => {
  const show = (result: SendResult): string | number => {
    if (result.kind === "already-sent") return result.sentAt;
    // @ts-expect-error Only an event that was sent before has a time.
    result.sentAt;
    return result.messageId;
  };
  expectTypeOf(show).returns.toEqualTypeOf<string | number>();
});

test("ports that a producer needs are required", () => {
  // @ts-expect-error The target is missing.
  void (() => createProducer({ outbox: createMemoryOutbox() }));
  // @ts-expect-error A sweeper needs the scope of the consuming pipeline.
  void ((ports: SweeperPorts) => createSweeper(ports));
  // @ts-expect-error Hooks of our own tests are not public.
  void (() => createProducer({ outbox: createMemoryOutbox(), target }, { onPoint() {} }));
});

test("stores take one object, with durations as numbers", () => {
  const outbox = createSqliteOutbox({ path: ":memory:", retentionMs: 86_400_000, busyMs: 100 });
  const ledger = createSqliteLedger({ path: ":memory:", retentionMs: 86_400_000 });
  void (() => createPostgresLedger({ url: "postgres://h/d", statementMsMax: 1_000 }));
  void (() => createPostgresOutbox({ url: "postgres://h/d" }));
  void (() => createDynamoLedger({ table: "ledger", requestMsMax: 1_000 }));
  void (() => createDynamoOutbox({ table: "outbox", region: "eu-central-1" }));
  // @ts-expect-error The path is missing.
  void (() => createSqliteLedger({}));
  return Promise.all([outbox.close(), ledger.close()]);
});

test("a clock can be passed, such as that of a virtual cloud", async () => {
  await using cloud = await startCloud({ memory: true, clock: "virtual" });
  const { clock } = cloud;
  const outbox = createMemoryOutbox({ clock });
  const producer = createProducer({ outbox, target, clock });
  createMemoryLedger({ clock, retentionMs: 86_400_000 });
  await producer.close();
});

test("telemetry needs only its metrics", () => {
  const telemetry = createTelemetry({ metrics: [PRODUCER_METRICS], logs: null });
  expectTypeOf(telemetry).toEqualTypeOf<ProcessTelemetry>();
  expect(telemetry.metricsText()).toContain("sqs_fifo");
});
