// IAM world: consumer, producer and operator of generated plans, each behind a recorder that
// enforces the policy of its role (aws-recorder.ts).
//   W1. The flows use every call of the adapters that a role can cause: retries, dead letters,
//       missing objects, heartbeats, claim checks, crashes of producers, redrive, purge.

import { S3Client } from "@aws-sdk/client-s3";
import { SNSClient } from "@aws-sdk/client-sns";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createDynamoLedger, createDynamoOutbox } from "../../../src/api/stores/dynamodb.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import type { CloudSetup } from "../../../src/cloud/setup/cloud-setup.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { type AwsAccount, policiesOf } from "../../../src/infra/iam-policies.ts";
import type { IamRole } from "../../../src/infra/iam-table.ts";
import type { InfraPlan } from "../../../src/infra/infra-plan.ts";
import { type FakeEcs, startFakeEcs } from "../fake-ecs.ts";
import { TASK_ROLE_ARN } from "./aws-calls.ts";
import { type AwsRecorder, type AwsRecorderOptions, startAwsRecorder } from "./aws-recorder.ts";

const region = "us-east-1";
const credentials = { accessKeyId: "local", secretAccessKey: "local" };

/** The bucket of task results. */
const RESULTS = "acme-results";

export const IAM_ACCOUNT: AwsAccount = {
  partition: "aws",
  region,
  account: "000000000000",
  keyArn: `arn:aws:kms:${region}:000000000000:key/11111111-2222-3333-4444-555555555555`,
  tasks: {
    cluster: "jobs",
    family: "download",
    roleArns: [TASK_ROLE_ARN],
    resultsArn: `arn:aws:s3:::${RESULTS}/days`,
  },
};

export interface IamWorld extends AsyncDisposable {
  readonly plan: InfraPlan;
  readonly cloud: Cloud;
  readonly ecs: FakeEcs;
  recorder(role: IamRole): AwsRecorder;
  /** URL of the ledger as a role reaches it. */
  ledgerUrl(role: IamRole): string;
  clients(role: IamRole): {
    readonly sqs: SQSClient;
    readonly sns: SNSClient;
    readonly s3: S3Client;
  };
  outbox(role: IamRole, retentionMs?: number): ReturnType<typeof createDynamoOutbox>;
  /** Runs a command as the operator. */
  operate(...words: string[]): Promise<{ readonly code: number; readonly text: string }>;
}

export async function openIamWorld(plan: InfraPlan, dynamodb: string): Promise<IamWorld> {
  const cloud = await startCloud({ memory: true, setup: setupOf(plan) });
  const table = (name: string) => ({ table: name, region, endpoint: dynamodb, credentials });
  // Terraform creates the tables with the item of the schema version.
  if (plan.ledgerTable !== null) {
    const { listing } = plan;
    await (await createDynamoLedger({ ...table(plan.ledgerTable), listing })).close();
  }
  if (plan.outboxTable !== null) await (await createDynamoOutbox(table(plan.outboxTable))).close();
  const ecs = await startFakeEcs();
  const endpoints = { cloud: cloud.endpoint, dynamodb, ecs: ecs.endpoint };
  const recorders = await startRecorders(plan, endpoints);
  const recorder = (role: IamRole) => recorders.get(role) as AwsRecorder;
  const opened: { destroy(): void }[] = [];
  const ledgerUrl = (role: IamRole) =>
    `dynamodb://${plan.ledgerTable}?region=${region}&endpoint=${recorder(role).endpoint}`;
  return {
    plan,
    cloud,
    ecs,
    recorder,
    ledgerUrl,
    clients(role) {
      const config = { region, credentials, endpoint: recorder(role).endpoint };
      const sqs = new SQSClient(config);
      const sns = new SNSClient(config);
      const s3 = new S3Client({ ...config, forcePathStyle: true });
      opened.push(sqs, sns, s3);
      return { sqs, sns, s3 };
    },
    outbox: (role, retentionMs) =>
      createDynamoOutbox({
        ...table(plan.outboxTable ?? ""),
        endpoint: recorder(role).endpoint,
        ...(retentionMs !== undefined && { retentionMs }),
      }),
    async operate(...words) {
      const lines: string[] = [];
      const write = (text: string) => void lines.push(text);
      const code = await runCli(words, { terminal: false, line: write, note: write });
      return { code, text: lines.join("\n") };
    },
    async [Symbol.asyncDispose]() {
      for (const client of opened) client.destroy();
      for (const each of recorders.values()) await each[Symbol.asyncDispose]();
      await ecs[Symbol.asyncDispose]();
      await cloud.close();
    },
  };
}

/** One recorder for each role, with its policy. */
async function startRecorders(
  plan: InfraPlan,
  endpoints: Pick<AwsRecorderOptions, "cloud" | "dynamodb" | "ecs">,
): Promise<ReadonlyMap<IamRole, AwsRecorder>> {
  const policies = policiesOf(plan, IAM_ACCOUNT);
  const recorders = new Map<IamRole, AwsRecorder>();
  for (const role of ["consumer", "producer", "operator"] as const) {
    const policy = JSON.stringify(policies[role]);
    const keyArn = plan.kms ? IAM_ACCOUNT.keyArn : null;
    recorders.set(role, await startAwsRecorder({ ...endpoints, policy, keyArn }));
  }
  return recorders;
}

/** The resources of a plan on the embedded cloud; what they may do is the recorders' concern. */
function setupOf(plan: InfraPlan): CloudSetup {
  const { bucket, topic, queue, deadLetterQueue, claimCheckBucket, maxReceiveCount } = plan;
  const claims = claimCheckBucket === null ? [] : [{ name: claimCheckBucket }];
  const results = plan.dispatch ? [{ name: RESULTS }] : [];
  const outputs = [...new Set(plan.outputs.map((name) => name.split("/")[0] ?? ""))];
  const archives = plan.archive === null ? [] : [{ name: plan.archive.bucket }];
  const late = plan.lateQueue === null ? [] : [{ name: plan.lateQueue }];
  const source = {
    name: bucket?.name ?? "",
    versioning: "Enabled" as const,
    notifications: [
      {
        ...(topic === null ? { queue } : { topic }),
        events: ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        prefix: bucket?.prefix ?? "",
      },
    ],
  };
  return {
    queues: [
      { name: deadLetterQueue },
      ...late,
      {
        name: queue,
        attributes: { VisibilityTimeout: plan.visibilitySeconds },
        deadLetter: { queue: deadLetterQueue, maxReceiveCount },
      },
    ],
    topics: topic === null ? [] : [{ name: topic }],
    subscriptions: topic === null ? [] : [{ topic, queue, raw: true }],
    buckets: [
      ...(bucket === null ? [] : [source]),
      ...claims,
      ...results,
      ...archives,
      ...outputs.map((name) => ({ name })),
    ],
  };
}
