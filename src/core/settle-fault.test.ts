import { expect, test } from "vitest";
import { settlementFault } from "./settle-fault.ts";

const invalid = (parameter: string, reason: string) =>
  `Value AQEB== for parameter ${parameter} is invalid. Reason: ${reason}`;

test.each([
  ["ReceiptHandleIsInvalid", 'The input receipt handle "x" is not a valid receipt handle.'],
  ["MessageNotInflight", "The specified message isn't in flight."],
  ["AWS.SimpleQueueService.MessageNotInflight", "The specified message isn't in flight."],
  ["InvalidParameterValue", invalid("ReceiptHandle", "The receipt handle has expired.")],
  [
    "InvalidParameterValue",
    invalid("ReceiptHandle", "Message does not exist or is not available for visibility timeout"),
  ],
])("%s: %s, means that the receipt is gone", (code, message) => {
  expect(settlementFault(code, message).kind).toBe("gone");
});

test.each([
  ["InvalidParameterValue", invalid("VisibilityTimeout", "Total VisibilityTimeout is beyond ...")],
  ["InternalError", "We encountered an internal error."],
  ["Unknown", ""],
])("%s: %s, leaves the receipt valid", (code, message) => {
  expect(settlementFault(code, message).kind).toBe("failed");
});

test("a reason contains the code and the cause, without the receipt", () => {
  const message = invalid("ReceiptHandle", "The receipt handle has expired.");
  expect(settlementFault("InvalidParameterValue", message).reason).toBe(
    "InvalidParameterValue: The receipt handle has expired.",
  );
});
