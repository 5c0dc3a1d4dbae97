import { describe, expect, test } from "vitest";
import { serviceEndpoint } from "./service-endpoint.ts";

const all = { AWS_ENDPOINT_URL: "http://all" };
const sqs = { AWS_ENDPOINT_URL_SQS: "http://sqs" };

describe("the endpoint of a service", () => {
  test.each([
    ["AWS without setting and variables", "SQS", undefined, {}, undefined],
    ["the setting before any variable", "SQS", "http://set", { ...all, ...sqs }, "http://set"],
    ["its own variable before the one for all", "SQS", undefined, { ...all, ...sqs }, "http://sqs"],
    ["the variable for all without its own", "S3", undefined, { ...all, ...sqs }, "http://all"],
    ["AWS if only another service has a variable", "DYNAMODB", undefined, sqs, undefined],
    ["AWS if a variable is empty", "S3", undefined, { AWS_ENDPOINT_URL: "" }, undefined],
    [
      "AWS if variables are to be ignored",
      "S3",
      undefined,
      { ...all, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true" },
      undefined,
    ],
  ] as const)("is %s", (_, service, setting, variables, expected) => {
    expect(serviceEndpoint(service, setting, variables)).toBe(expected);
  });

  test.each(["", "127.0.0.1:4566", "localhost:4566", "ftp://host", "http://"])(
    "is refused if it is %j",
    (setting) => {
      const message = expect.stringContaining("is not an endpoint; use a URL such as");
      const error = expect.objectContaining({ code: "TG_CONFIG_INVALID", message });
      expect(() => serviceEndpoint("SQS", setting, all)).toThrow(error);
    },
  );
});
