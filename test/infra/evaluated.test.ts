// What Terraform makes of the generated files: settings, policies and alarms, evaluated by the real
// engine (evaluate-terraform.ts).

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { allowsService, decideAccess } from "../../src/core/access/access-policy.ts";
import { alarmsOf } from "../../src/infra/alarm-table.ts";
import { policiesOf } from "../../src/infra/iam-policies.ts";
import { IAM_ROLES } from "../../src/infra/iam-table.ts";
import { infraFiles } from "../../src/operate/infra/infra-files.ts";
import { OUTBOX } from "../../src/stores/dynamodb/outbox-schema.ts";
import { LEDGER } from "../../src/stores/dynamodb/schema.ts";
import { versionItem } from "../../src/stores/dynamodb/table-version.ts";
import { sampleOf } from "../support/full-size.ts";
import { type EvaluatedResource, evaluateTerraform } from "../support/infra/evaluate-terraform.ts";
import { INFRA_PLANS, ROOT_VARIABLES } from "../support/infra/plans.ts";
import { requirePart } from "../support/requires.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("terraform");
const AWS = {
  partition: "aws",
  region: "us-east-1",
  account: "000000000000",
  keyArn: "arn:aws:kms:us-east-1:000000000000:key/key",
  tasks: {
    cluster: "c",
    family: ROOT_VARIABLES.task_family,
    roleArns: ROOT_VARIABLES.task_role_arns,
    resultsArn: ROOT_VARIABLES.task_results_arn,
  },
};

describe.each(sampleOf(3, Object.entries(INFRA_PLANS)))("%s", (_, plan) => {
  const { terraform } = requirePart("terraform");
  let resources: EvaluatedResource[] = [];

  beforeAll(async () => {
    if (terraform.endsWith("is-missing")) return;
    const own = mkdtempSync(join(folder, "run-"));
    resources = await evaluateTerraform(terraform, own, infraFiles(plan), ROOT_VARIABLES);
  });

  const one = (type: string, name = "this", module?: string) => {
    const matches = resources.filter((each) => {
      const isHere = module === undefined || each.module === `module.${module}`;
      return each.type === type && each.name === name && isHere;
    });
    expect([type, name, matches.length]).toEqual([type, name, 1]);
    return (matches[0] as EvaluatedResource).values;
  };
  const account = AWS.account;

  test("the module iam has exactly the policies of the table", () => {
    for (const role of IAM_ROLES) {
      const { policy } = one("aws_iam_role_policy", role);
      expect(JSON.parse(String(policy))).toEqual(policiesOf(plan, AWS)[role]);
    }
  });

  test("tables have the version that the stores write when they create them", () => {
    const item = (module: string) =>
      JSON.parse(String(one("aws_dynamodb_table_item", "version", module).item));
    const { listing } = plan;
    if (plan.ledgerTable !== null)
      expect(item("ledger_dynamodb")).toEqual(versionItem(LEDGER, { listing }));
    if (plan.outboxTable !== null)
      expect(item("outbox_dynamodb")).toEqual(versionItem(OUTBOX, { listing: false }));
  });

  test("queue and dead-letter queue have the settings that the pipeline needs", () => {
    const queue = one("aws_sqs_queue");
    const deadLetters = one("aws_sqs_queue", "dead_letters");
    expect(queue).toMatchObject({
      name: plan.queue,
      fifo_queue: plan.fifo,
      visibility_timeout_seconds: plan.visibilitySeconds,
      message_retention_seconds: 345_600,
      receive_wait_time_seconds: 20,
    });
    expect(JSON.parse(String(queue.redrive_policy))).toEqual({
      deadLetterTargetArn: deadLetters.arn,
      maxReceiveCount: plan.maxReceiveCount,
    });
    expect(deadLetters).toMatchObject({
      name: plan.deadLetterQueue,
      fifo_queue: plan.fifo,
      message_retention_seconds: 1_209_600,
    });
    const allow = one("aws_sqs_queue_redrive_allow_policy", "dead_letters");
    expect(JSON.parse(String(allow.redrive_allow_policy))).toEqual({
      redrivePermission: "byQueue",
      sourceQueueArns: [queue.arn],
    });
    for (const each of [queue, deadLetters]) {
      const key = plan.kms ? AWS.keyArn : undefined;
      const encryption = [each.kms_master_key_id ?? undefined, each.sqs_managed_sse_enabled];
      expect(encryption).toEqual([key, plan.kms ? null : true]);
    }
  });

  test("only the own topic or bucket may send to the queue, and nothing over plain HTTP", () => {
    const arn = String(one("aws_sqs_queue").arn);
    const policy = String(one("aws_sqs_queue_policy").policy);
    const may = (service: string, sourceArn: string, sourceAccount = account) =>
      allowsService(policy, {
        service,
        action: "sqs:SendMessage",
        resource: arn,
        sourceArn,
        sourceAccount,
      });
    const topic = `arn:aws:sns:us-east-1:${account}:${plan.topic}`;
    const bucket = `arn:aws:s3:::${plan.bucket?.name}`;
    expect(may("sns.amazonaws.com", topic)).toBe(plan.topic !== null);
    expect(may("sns.amazonaws.com", `${topic}-2`)).toBe(false);
    expect(may("sns.amazonaws.com", topic.replace(account, "111122223333"))).toBe(false);
    const direct = plan.bucket !== null && plan.topic === null;
    expect(may("s3.amazonaws.com", bucket)).toBe(direct);
    expect(may("s3.amazonaws.com", `${bucket}-2`)).toBe(false);
    expect(may("s3.amazonaws.com", bucket, "111122223333")).toBe(false);
    expect(plainHttp(policy, "sqs:SendMessage", arn)).toEqual({ plain: "deny", tls: "none" });
  });

  test("the bucket is private, versioned and denies plain HTTP", () => {
    const modules = [
      ...(plan.bucket === null ? [] : ["bucket"]),
      ...(plan.claimCheckBucket === null ? [] : ["claim_checks"]),
    ];
    for (const module of modules) {
      const { arn } = one("aws_s3_bucket", "this", module);
      const { versioning_configuration: versioning } = one(
        "aws_s3_bucket_versioning",
        "this",
        module,
      );
      expect(versioning).toEqual([{ status: "Enabled" }]);
      expect(one("aws_s3_bucket_public_access_block", "this", module)).toMatchObject({
        block_public_acls: true,
        block_public_policy: true,
        ignore_public_acls: true,
        restrict_public_buckets: true,
      });
      const policy = String(one("aws_s3_bucket_policy", "this", module).policy);
      const verdicts = plainHttp(policy, "s3:GetObject", `${arn}/in/a.csv`);
      expect(verdicts).toEqual({ plain: "deny", tls: "none" });
    }
  });

  test("objects outside the prefix, and other queues, are out of reach of every role", () => {
    const context = { "aws:securetransport": "true" };
    for (const role of IAM_ROLES) {
      const policy = String(one("aws_iam_role_policy", role).policy);
      const decide = (action: string, resource: string) =>
        decideAccess(policy, { principal: null, action, resource, context });
      expect(decide("s3:GetObject", "arn:aws:s3:::acme-orders/out/a.csv")).toBe("none");
      expect(decide("s3:GetObject", "arn:aws:s3:::other/in/a.csv")).toBe("none");
      expect(decide("s3:DeleteObject", "arn:aws:s3:::acme-orders/in/a.csv")).toBe("none");
      expect(decide("sqs:ReceiveMessage", `arn:aws:sqs:us-east-1:${account}:other`)).toBe("none");
      expect(decide("sqs:PurgeQueue", String(one("aws_sqs_queue").arn))).toBe("none");
      expect(decide("dynamodb:DeleteTable", `arn:aws:dynamodb:us-east-1:${account}:table/x`)).toBe(
        "none",
      );
    }
    const consumer = String(one("aws_iam_role_policy", "consumer").policy);
    const reads = {
      action: "s3:GetObject",
      resource: "arn:aws:s3:::acme-orders/in/a.csv",
      context,
    };
    const verdict = decideAccess(consumer, { principal: null, ...reads });
    expect(verdict).toBe(plan.bucket === null ? "none" : "allow");
  });

  test("a customer key lets S3 and SNS of this account use it, and no others", () => {
    if (!plan.kms) return;
    const { policy, arn } = one("aws_kms_key");
    const may = (service: string, sourceArn: string, sourceAccount = account) =>
      allowsService(String(policy), {
        service,
        action: "kms:GenerateDataKey",
        resource: String(arn),
        sourceArn,
        sourceAccount,
      });
    const topic = `arn:aws:sns:us-east-1:${account}:${plan.topic}`;
    expect(may("sns.amazonaws.com", topic)).toBe(true);
    expect(may("sns.amazonaws.com", `${topic}-2`)).toBe(false);
    const bucket = `arn:aws:s3:::${plan.bucket?.name}`;
    expect(may("s3.amazonaws.com", bucket)).toBe(plan.bucket !== null);
    expect(may("s3.amazonaws.com", bucket, "111122223333")).toBe(false);
  });

  test("ECS may read the secrets of the consumer, and only these", () => {
    if (plan.compute !== "ecs") return;
    const { Statement } = JSON.parse(String(one("aws_iam_role_policy", "secrets").policy));
    const secret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf";
    expect(Statement[0].Resource).toEqual([secret]);
  });

  test("a dashboard shows queue, dead-letter queue and topic", () => {
    const { widgets } = JSON.parse(String(one("aws_cloudwatch_dashboard").dashboard_body));
    const metrics = (widgets as { properties: { metrics: string[][] } }[]).flatMap(
      ({ properties }) => properties.metrics,
    );
    const names = new Set(metrics.map((metric) => metric[3]));
    const { queue, deadLetterQueue, topic } = plan;
    expect([...names]).toEqual([queue, deadLetterQueue, topic].filter((name) => name !== null));
    expect(metrics.every((metric) => metric.length === 4)).toBe(true);
  });

  test("there is an alarm for each row of the table, with its runbook", () => {
    const alarms = resources.filter(({ type }) => type === "aws_cloudwatch_metric_alarm");
    expect(alarms.map(({ values }) => values.alarm_name).toSorted()).toEqual(
      alarmsOf(plan)
        .map(({ name }) => `${plan.stem}-${name}`)
        .toSorted(),
    );
    for (const { name, operator, runbook } of alarmsOf(plan)) {
      const alarm = alarms.find(({ values }) => values.alarm_name === `${plan.stem}-${name}`);
      expect(alarm?.values).toMatchObject({ comparison_operator: operator });
      expect(alarm?.values.alarm_description).toContain(`docs/runbooks/${runbook}`);
      expect(JSON.stringify(alarm?.values)).toMatch(/"(QueueName|TopicName)":"\w/);
    }
  });
});

function plainHttp(policy: string, action: string, resource: string) {
  const principal = { arn: "arn:aws:iam::000000000000:role/any" };
  const decide = (secure: string) =>
    decideAccess(policy, {
      principal,
      action,
      resource,
      context: { "aws:securetransport": secure },
    });
  return { plain: decide("false"), tls: decide("true") };
}
