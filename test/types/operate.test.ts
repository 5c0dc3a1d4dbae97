// Types of `tidegate/operate`. The compiler checks them (`npm run types`).

import {
  type DeadLetterEntry,
  type DeadLetters,
  type DropSummary,
  type Operator,
  openOperator,
  type RedriveEvent,
  type RedriveSummary,
} from "tidegate/operate";
import { createMemoryLedger } from "tidegate/stores/memory";
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
