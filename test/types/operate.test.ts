// Types of `tidegate/operate`. The compiler checks them (`npm run types`).

import { createS3ObjectSource, type ObjectSource, type Objects } from "tidegate/aws/s3";
import { createSnsTopic, type TopicPublisher } from "tidegate/aws/sns";
import { createSqsQueue, type Queue } from "tidegate/aws/sqs";
import { type Queue as CloudQueue, createCloudQueue } from "tidegate/cloud";
import {
  type DeadLetterEntry,
  type DeadLetters,
  type DropSummary,
  type Operator,
  openOperator,
  type RedriveEvent,
  type RedriveSummary,
} from "tidegate/operate";
import {
  createMemoryLedger,
  createMemoryObjects,
  type Ledger,
  type Outbox,
} from "tidegate/stores/memory";
import { createSqliteLedger, createSqliteOutbox } from "tidegate/stores/sqlite";
import { expectTypeOf, test } from "vitest";

test("an operator is opened by a pipeline's name and an open ledger, and is disposable", async () => {
  await using operator = openOperator({ pipeline: "orders", ledger: createMemoryLedger() });
  expectTypeOf(operator).toEqualTypeOf<Operator>();
  expectTypeOf(operator).toExtend<AsyncDisposable>();
  const { deadLetters } = operator;
  for await (const entry of deadLetters.list({ class: "schema", olderThanMs: 1_000 })) {
    expectTypeOf(entry).toEqualTypeOf<DeadLetterEntry>();
    expectTypeOf(entry.object).toEqualTypeOf<string | null>();
  }
  const redrive = deadLetters.redrive({}, { perSecond: 5, followMs: 1_000 });
  for await (const event of redrive) expectTypeOf(event).toEqualTypeOf<RedriveEvent>();
  expectTypeOf(await redrive.result()).toEqualTypeOf<RedriveSummary>();
  expectTypeOf(await deadLetters.drop({}, { dryRun: true }).result()).toEqualTypeOf<DropSummary>();
});

test("misspelt selections and requests are errors", () => {
  // @ts-expect-error It is `class`.
  void ((deadLetters: DeadLetters) => deadLetters.list({ errorClass: "schema" }));
  // @ts-expect-error A drop is not paced.
  void ((deadLetters: DeadLetters) => deadLetters.drop({}, { perSecond: 5 }));
});

test("whatever a program holds has a type that it can name", () => {
  expectTypeOf(createMemoryLedger).returns.toEqualTypeOf<Ledger>();
  expectTypeOf(createSqliteLedger).returns.toEqualTypeOf<Ledger>();
  expectTypeOf(createSqliteOutbox).returns.toEqualTypeOf<Outbox>();
  expectTypeOf(createMemoryObjects).returns.toEqualTypeOf<Objects>();
  expectTypeOf(createS3ObjectSource).returns.toEqualTypeOf<ObjectSource>();
  expectTypeOf(createSqsQueue).returns.toEqualTypeOf<Queue>();
  expectTypeOf(createCloudQueue).returns.toEqualTypeOf<CloudQueue>();
  expectTypeOf(createSnsTopic).returns.toEqualTypeOf<TopicPublisher>();
});
