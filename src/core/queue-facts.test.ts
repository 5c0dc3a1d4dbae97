import { expect, test } from "vitest";
import { parseQueueArn } from "./queue-arn.ts";
import { queueFactsOf } from "./queue-facts.ts";
import { days, seconds } from "./units.ts";

test("missing attributes have SQS's defaults", () => {
  expect(queueFactsOf({})).toEqual({
    arn: "",
    visibilityMs: seconds(30),
    retentionMs: days(4),
    waitMs: 0,
    messageBytesMax: 1_048_576,
    redrive: null,
    visible: 0,
    hidden: 0,
    delayed: 0,
  });
});

test("maxReceiveCount is a number, however the policy writes it", () => {
  const policyWith = (maxReceiveCount: number | string) =>
    queueFactsOf({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: "a", maxReceiveCount }) });
  expect(policyWith("25").redrive).toEqual({ deadLetterArn: "a", maxReceiveCount: 25 });
  expect(policyWith(25)).toEqual(policyWith("25"));
});

test("a queue ARN is distinguished from other ARNs and from names", () => {
  expect(parseQueueArn("arn:aws-cn:sqs:cn-north-1:123456789012:orders.fifo")).toEqual({
    region: "cn-north-1",
    account: "123456789012",
    name: "orders.fifo",
  });
  for (const other of ["orders", "arn:aws:sns:us-east-1:123456789012:t", "arn:aws:sqs:::q", ""]) {
    expect(parseQueueArn(other)).toBeNull();
  }
});
