// Types of `tidegate/dead-letters`. The compiler checks them (`npm run types`).

import {
  type DeadLetter,
  type DeadLetters,
  type DropSummary,
  openDeadLetters,
  type RedriveEvent,
  type RedriveSummary,
} from "tidegate/dead-letters";
import { createMemoryLedger } from "tidegate/stores/memory";
import { expect, expectTypeOf, test } from "vitest";

test("dead letters are opened by a pipeline's name and an open ledger, and are disposable", async () => {
  const ledger = createMemoryLedger();
  await using deadLetters = await openDeadLetters({ pipeline: "orders", ledger });
  expectTypeOf(deadLetters).toEqualTypeOf<DeadLetters>();
  expectTypeOf(deadLetters).toExtend<AsyncDisposable>();
  for await (const letter of deadLetters.list({ class: "schema", olderThanMs: 1_000 })) {
    expectTypeOf(letter).toEqualTypeOf<DeadLetter>();
    expectTypeOf(letter.object).toEqualTypeOf<string | null>();
  }
  const onEvent = (event: RedriveEvent) => expect(event.kind).toBe("never");
  const redriven = await deadLetters.redrive({}, { perSecond: 5, followMs: 1_000, onEvent });
  expectTypeOf(redriven).toEqualTypeOf<RedriveSummary>();
  expectTypeOf(await deadLetters.drop({}, { dryRun: true })).toEqualTypeOf<DropSummary>();
});

test("misspelt filters and missing pipelines are errors", () => {
  // @ts-expect-error The pipeline is missing.
  void (() => openDeadLetters({ ledger: "memory:" }));
  // @ts-expect-error It is `class`.
  void ((deadLetters: DeadLetters) => deadLetters.list({ errorClass: "schema" }));
  // @ts-expect-error A drop is not paced.
  void ((deadLetters: DeadLetters) => deadLetters.drop({}, { perSecond: 5 }));
});
