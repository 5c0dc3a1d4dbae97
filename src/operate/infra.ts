// Infra: the AWS resources of a pipeline. A plan is derived from the pipeline; it is written as
// Terraform, or compared with what exists.
//   N1. The account is that of the queues, so one of them has to exist to compare the account.
//   N2. With an endpoint and none for DynamoDB, tables are not compared.

import { TidegateError } from "../core/errors.ts";
import { accountDifferences } from "../infra/account-diff.ts";
import { policiesOf } from "../infra/iam-policies.ts";
import { type InfraDifference, infraDifferences, type LiveInfra } from "../infra/infra-diff.ts";
import { type InfraOptions, type InfraPlan, planInfra } from "../infra/infra-plan.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { loadPipeline } from "../run/open/load-pipeline.ts";
import { infraFiles } from "./infra/infra-files.ts";
import { pipelineFacts } from "./infra/pipeline-facts.ts";
import { readAccount } from "./infra/read-account.ts";
import { readLive } from "./infra/read-live.ts";
import { type WrittenInfra, writeInfra } from "./infra/write-infra.ts";

export { EXISTENCE, type InfraDifference } from "../infra/infra-diff.ts";
export type { InfraOptions, InfraPlan } from "../infra/infra-plan.ts";

/** Where the resources are, and how much of them is compared. */
export interface InfraComparison {
  /** SQS, SNS and S3 endpoint. Default: AWS. */
  readonly endpoint?: string | undefined;
  /** Default: AWS, or none if there is an endpoint (N2). */
  readonly dynamodbEndpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Also compares roles, key, alarms and compute. Default: false. */
  readonly account?: boolean | undefined;
  /** Cluster of the ECS service. Default: the account's default cluster. */
  readonly cluster?: string | undefined;
}

/** The resources of a pipeline, or of a pipeline file. */
export async function planResources(
  pipeline: Pipeline | string,
  options: InfraOptions = {},
): Promise<InfraPlan> {
  const loaded = typeof pipeline === "string" ? await loadPipeline(pipeline) : pipeline;
  return planInfra(pipelineFacts(loaded), options);
}

/** Writes the Terraform of a plan, and returns the IAM policies that it contains. */
export function writeTerraform(plan: InfraPlan, folder: string, overwrite = false) {
  const written: WrittenInfra = writeInfra(folder, infraFiles(plan), overwrite);
  return { ...written, policies: policiesOf(plan) };
}

/** What exists otherwise than planned, or not at all. */
export async function compareResources(
  plan: InfraPlan,
  options: InfraComparison = {},
): Promise<InfraDifference[]> {
  const { endpoint, region, account = false } = options;
  const skipsTables = !comparesTables(options);
  const compared = skipsTables ? { ...plan, ledgerTable: null, outboxTable: null } : plan;
  const dynamoEndpoint = skipsTables ? null : options.dynamodbEndpoint;
  const live = await readLive(compared, { endpoint, region, dynamoEndpoint });
  const differences = infraDifferences(compared, live);
  return account ? [...differences, ...(await compareAccount(plan, live, options))] : differences;
}

/** N2 */
export function comparesTables({ endpoint, dynamodbEndpoint }: InfraComparison): boolean {
  return endpoint === undefined || dynamodbEndpoint !== undefined;
}

/** N1 */
async function compareAccount(
  plan: InfraPlan,
  { queue, deadLetterQueue }: LiveInfra,
  { endpoint, region, cluster }: InfraComparison,
): Promise<InfraDifference[]> {
  const existing = queue ?? deadLetterQueue;
  if (existing === null) {
    const message = "--account needs a queue that exists, to know the account; create it first";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const [, , , , account] = existing.arn.split(":");
  if (plan.queueAccount !== null && plan.queueAccount !== account) {
    const message =
      `the credentials are of account ${account}, but the pipeline's queue is in account ` +
      `${plan.queueAccount}; use credentials of that account`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const arn = existing.arn.replace(/[^:]+$/, plan.queue);
  return accountDifferences(plan, await readAccount(plan, arn, { endpoint, region, cluster }));
}
