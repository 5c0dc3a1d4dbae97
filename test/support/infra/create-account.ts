// Create account: roles, key, alarms and compute of a plan on moto, as the Terraform modules
// describe them. test/infra/evaluated.test.ts compares the modules with the same tables.

import { deflateRawSync } from "node:zlib";
import * as cloudwatch from "@aws-sdk/client-cloudwatch";
import * as ecs from "@aws-sdk/client-ecs";
import * as iam from "@aws-sdk/client-iam";
import * as kms from "@aws-sdk/client-kms";
import * as lambda from "@aws-sdk/client-lambda";
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type AlarmRow, alarmsOf } from "../../../src/infra/alarm-table.ts";
import { policiesOf } from "../../../src/infra/iam-policies.ts";
import { IAM_ROLES } from "../../../src/infra/iam-table.ts";
import type { InfraPlan } from "../../../src/infra/infra-plan.ts";

const REGION = "us-east-1";

export function accountClients(endpoint: string) {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const config = { endpoint, region: REGION, credentials };
  return {
    sqs: new SQSClient(config),
    iam: new iam.IAMClient(config),
    kms: new kms.KMSClient(config),
    cloudwatch: new cloudwatch.CloudWatchClient(config),
    lambda: new lambda.LambdaClient(config),
    ecs: new ecs.ECSClient(config),
  };
}

export type AccountClients = ReturnType<typeof accountClients>;

export interface CreatedAccount {
  readonly queueArn: string;
  readonly keyId: string;
}

export async function createAccount(
  clients: AccountClients,
  plan: InfraPlan,
): Promise<CreatedAccount> {
  const { QueueUrl } = await clients.sqs.send(new CreateQueueCommand({ QueueName: plan.queue }));
  const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] });
  const { Attributes = {} } = await clients.sqs.send(asked);
  const queueArn = Attributes.QueueArn ?? "";
  const account = queueArn.split(":")[4] ?? "";
  const key = plan.kms ? await createKey(clients, plan, account) : { id: "", arn: "" };
  await createRoles(clients, plan, account, key.arn);
  for (const row of alarmsOf(plan)) await putAlarm(clients, plan, row);
  if (plan.compute === "lambda") await createMapping(clients, plan, queueArn);
  if (plan.compute === "ecs") await createService(clients, plan, account);
  return { queueArn, keyId: key.id };
}

/** `services` may use the key. */
export function keyPolicy(account: string, services: readonly string[]): string {
  const root = { AWS: `arn:aws:iam::${account}:root` };
  const Condition = { StringEquals: { "aws:SourceAccount": account } };
  const Action = ["kms:Decrypt", "kms:GenerateDataKey*"];
  return JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      { Effect: "Allow", Principal: root, Action: "kms:*", Resource: "*" },
      ...services.map((Service) => {
        return { Effect: "Allow", Principal: { Service }, Action, Resource: "*", Condition };
      }),
    ],
  });
}

async function createKey({ kms: client }: AccountClients, { stem }: InfraPlan, account: string) {
  const Policy = keyPolicy(account, ["sns.amazonaws.com", "s3.amazonaws.com"]);
  const { KeyMetadata } = await client.send(new kms.CreateKeyCommand({ Policy }));
  const { KeyId = "", Arn = "" } = KeyMetadata ?? {};
  await client.send(new kms.EnableKeyRotationCommand({ KeyId }));
  const alias = { AliasName: `alias/${stem}`, TargetKeyId: KeyId };
  await client.send(new kms.CreateAliasCommand(alias));
  return { id: KeyId, arn: Arn };
}

async function createRoles(
  { iam: client }: AccountClients,
  plan: InfraPlan,
  account: string,
  keyArn: string,
): Promise<void> {
  const tasks = { cluster: "", family: "", roleArns: [], resultsArn: null };
  const aws = { partition: "aws", region: REGION, account, keyArn, tasks };
  const services = { Service: ["ecs-tasks.amazonaws.com", "lambda.amazonaws.com"] };
  const trust = { Effect: "Allow", Action: "sts:AssumeRole", Principal: services };
  const AssumeRolePolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: [trust] });
  for (const role of IAM_ROLES) {
    const RoleName = `${plan.stem}-${role}`;
    await client.send(new iam.CreateRoleCommand({ RoleName, AssumeRolePolicyDocument }));
    const PolicyDocument = JSON.stringify(policiesOf(plan, aws)[role]);
    const policy = { RoleName, PolicyName: "pipeline", PolicyDocument };
    await client.send(new iam.PutRolePolicyCommand(policy));
  }
}

/** `change` overrides fields of the alarm. */
export async function putAlarm(
  { cloudwatch: client }: AccountClients,
  plan: InfraPlan,
  row: AlarmRow,
  change: Partial<cloudwatch.PutMetricAlarmCommandInput> = {},
): Promise<void> {
  const [Namespace, Name] =
    row.on === "topic" ? ["AWS/SNS", "TopicName"] : ["AWS/SQS", "QueueName"];
  const names = { queue: plan.queue, "dead-letter-queue": plan.deadLetterQueue, topic: plan.topic };
  const Dimensions = [{ Name, Value: names[row.on] ?? "" }];
  const metricStat = (MetricName: string) => ({
    Metric: { Namespace, MetricName, Dimensions },
    Period: row.periodSeconds,
    Stat: row.statistic,
  });
  const comparison = (): Partial<cloudwatch.PutMetricAlarmCommandInput> => {
    switch (row.kind) {
      case "threshold":
        return {
          Namespace,
          MetricName: row.metric,
          Dimensions,
          Statistic: row.statistic,
          Period: row.periodSeconds,
          Threshold: row.threshold,
        };
      case "anomaly":
        return {
          ThresholdMetricId: "expected",
          Metrics: [
            { Id: "expected", Expression: `ANOMALY_DETECTION_BAND(actual, ${row.deviations})` },
            { Id: "actual", MetricStat: metricStat(row.metric) },
          ],
        };
      case "formula":
        return {
          Threshold: row.threshold,
          Metrics: [
            { Id: "formula", Expression: row.formula },
            { Id: "a", MetricStat: metricStat(row.metrics.a), ReturnData: false },
            { Id: "b", MetricStat: metricStat(row.metrics.b), ReturnData: false },
          ],
        };
    }
  };
  await client.send(
    new cloudwatch.PutMetricAlarmCommand({
      AlarmName: `${plan.stem}-${row.name}`,
      ComparisonOperator: row.operator,
      EvaluationPeriods: row.periods,
      TreatMissingData: "notBreaching",
      ...comparison(),
      ...change,
    }),
  );
}

async function createMapping(
  { lambda: client }: AccountClients,
  { stem }: InfraPlan,
  queueArn: string,
): Promise<void> {
  const account = queueArn.split(":")[4];
  await client.send(
    new lambda.CreateFunctionCommand({
      FunctionName: stem,
      Role: `arn:aws:iam::${account}:role/${stem}-consumer`,
      Runtime: "nodejs22.x",
      Handler: "index.handler",
      Timeout: 60,
      Code: { ZipFile: deflateRawSync("") },
    }),
  );
  await client.send(
    new lambda.CreateEventSourceMappingCommand({
      EventSourceArn: queueArn,
      FunctionName: stem,
      FunctionResponseTypes: ["ReportBatchItemFailures"],
    }),
  );
}

async function createService(
  { ecs: client }: AccountClients,
  { stem, ledgerTable }: InfraPlan,
  account: string,
): Promise<void> {
  await client.send(new ecs.CreateClusterCommand({ clusterName: "jobs" }));
  const environment = [{ name: "TIDEGATE_LEDGER", value: `dynamodb://${ledgerTable}` }];
  await client.send(
    new ecs.RegisterTaskDefinitionCommand({
      family: stem,
      taskRoleArn: `arn:aws:iam::${account}:role/${stem}-consumer`,
      containerDefinitions: [{ name: "consumer", image: "consumer", memory: 512, environment }],
    }),
  );
  const service = { cluster: "jobs", serviceName: stem, taskDefinition: stem, desiredCount: 1 };
  await client.send(new ecs.CreateServiceCommand(service));
}
