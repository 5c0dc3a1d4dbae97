import { expect, test } from "vitest";
import { queueFault } from "./sdk-errors.ts";

test("a missing region is a configuration error and is not retried", () => {
  const fault = queueFault(new Error("Region is missing"), "orders");
  expect(fault).toMatchObject({ code: "TG_CONFIG_INVALID" });
  expect(fault.message).toContain("AWS_REGION");
});

test.each([
  ["ThrottlingException", 400, "TG_QUEUE_UNAVAILABLE"],
  ["RequestTimeout", 408, "TG_QUEUE_UNAVAILABLE"],
  ["InternalFailure", 500, "TG_QUEUE_UNAVAILABLE"],
  ["QueueDoesNotExist", 400, "TG_QUEUE_REFUSED"],
])("%s with %i is %s", (name, httpStatusCode, code) => {
  const error = { name, message: "m", $fault: "client", $metadata: { httpStatusCode } };
  expect(queueFault(error, "orders")).toMatchObject({ code });
});
