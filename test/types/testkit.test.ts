// Types of `tidegate/testkit`. The compiler checks them (`npm run types`).

import { pipeline } from "tidegate";
import { type ConsumerSnapshot, type DeadLetter, startTestPipeline } from "tidegate/testkit";
import { expectTypeOf, test } from "vitest";

const events = pipeline({ name: "events", source: { queue: "events" }, handler: () => {} });

test("a test pipeline is disposable, and takes objects and messages", async () => {
  await using t = await startTestPipeline(events, { seed: 7 });
  expectTypeOf(t).toExtend<AsyncDisposable>();
  expectTypeOf(t.put).parameters.toEqualTypeOf<[string, string | Uint8Array]>();
  await t.send({ payload: { id: 1 }, dedupeKey: "1" });
  await t.send({ body: "{}" });
  await t.idle();
  expectTypeOf(t.rows).returns.items.toExtend<
    Readonly<Record<string, string | number | bigint | boolean | Uint8Array | null>>
  >();
  expectTypeOf(t.effects()).toEqualTypeOf<unknown[]>();
  expectTypeOf(await t.deadLetters({ class: "schema" })).toEqualTypeOf<DeadLetter[]>();
  expectTypeOf(t.snapshot()).toEqualTypeOf<ConsumerSnapshot>();
  expectTypeOf(t.cloud.endpoint).toEqualTypeOf<string>();
});

test("an invalid test message is a type error", () => {
  type Test = Awaited<ReturnType<typeof startTestPipeline>>;
  // @ts-expect-error A message has a payload or a body.
  void ((t: Test) => t.send({ dedupeKey: "1" }));
  // @ts-expect-error An object is text or bytes.
  void ((t: Test) => t.put("a.json", { id: 1 }));
  // @ts-expect-error There is no such option.
  void (() => startTestPipeline(events, { seeds: 1 }));
});
