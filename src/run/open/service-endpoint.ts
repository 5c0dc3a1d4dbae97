// Service endpoint: where the services of AWS are.
//   E1. A setting overrides the AWS SDK's own variables, and a variable of one service overrides
//       the one for all: queues and objects may be on different servers.
//   E2. The variables are read here, although the SDK would read them too: only an endpoint that is
//       known gets path-style buckets and placeholder credentials, and only then does the SDK send
//       requests there if the host in a queue URL is another.

import { TidegateError } from "../../core/errors.ts";

export type AwsService =
  | "SQS"
  | "SNS"
  | "S3"
  | "DYNAMODB"
  | "ECS"
  | "IAM"
  | "KMS"
  | "CLOUDWATCH"
  | "LAMBDA";

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The endpoint of a service; undefined for AWS, or if only a configuration file names it. Throws
 * TG_CONFIG_INVALID for anything that is not a URL.
 */
export function serviceEndpoint(
  service: AwsService,
  setting: string | undefined,
  variables: Variables = process.env,
): string | undefined {
  const endpoint = setting ?? endpointIn(variables, service); // E1
  if (endpoint === undefined) return undefined;
  const { protocol = "" } = URL.parse(endpoint) ?? {};
  if (protocol === "http:" || protocol === "https:") return endpoint;
  // The SDK would call any other scheme as http.
  const message = `"${endpoint}" is not an endpoint; use a URL such as http://127.0.0.1:4566`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function endpointIn(variables: Variables, service: AwsService): string | undefined {
  if (variables.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === "true") return undefined;
  // The SDK takes an empty variable for a missing one.
  return variables[`AWS_ENDPOINT_URL_${service}`] || variables.AWS_ENDPOINT_URL || undefined;
}
