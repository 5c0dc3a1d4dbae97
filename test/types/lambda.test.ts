// Types of `tidegate/lambda`. The compiler checks them (`npm run types`).

import { pipeline } from "tidegate";
import { type LambdaHandler, type LambdaResponse, lambdaHandler } from "tidegate/lambda";
import type { startEventSourceMapping } from "tidegate/testkit";
import { expectTypeOf, test } from "vitest";

const events = pipeline({ name: "events", source: { queue: "events" }, handler: () => {} });

/** As @types/aws-lambda declares a handler of SQS. */
type SqsHandler = (
  event: { Records: { messageId: string; body: string }[] },
  context: { awsRequestId: string; functionName: string; getRemainingTimeInMillis(): number },
  callback: (error: unknown, result?: unknown) => void,
  // biome-ignore lint/suspicious/noConfusingVoidType: it is the type of the other package.
) => void | Promise<{ batchItemFailures: { itemIdentifier: string }[] } | void>;

test("a function is a handler as Lambda's own types describe it", () => {
  const handler = lambdaHandler(events, { ledger: "memory:", settleMs: 500 });
  expectTypeOf(handler).toExtend<SqsHandler>();
  expectTypeOf(handler).toEqualTypeOf<LambdaHandler>();
  expectTypeOf(handler).returns.toEqualTypeOf<Promise<LambdaResponse | undefined>>();
  expectTypeOf(handler).toExtend<Parameters<typeof startEventSourceMapping>[1]>();
});

test("a wrong setting is a type error", () => {
  // @ts-expect-error A ledger is required.
  void (() => lambdaHandler(events, {}));
  // @ts-expect-error A partial failure is reported or thrown.
  void (() => lambdaHandler(events, { ledger: "memory:", partialFailures: "ignore" }));
});
