// Account diff: compares roles, key, alarms and compute of a pipeline with its plan.
//   A1. Pure: the caller reads the account into a LiveAccount (read-account.ts).
//   A2. Rights are compared by asking, not by their text: every request that the IAM table lists
//       has to be allowed, and a few that no role may make have to be refused.
//   A3. Values that belong to an account are not compared: who is notified, which image or function
//       runs, how many tasks.

import { allowsService, decideAccess } from "../core/access/access-policy.ts";
import { type AlarmedResource, type AlarmRow, alarmsOf } from "./alarm-table.ts";
import { type AwsAccount, type PolicyStatement, policiesOf, resourceArns } from "./iam-policies.ts";
import { IAM_ROLES, type IamRole } from "./iam-table.ts";
import { type Compare, EXISTENCE, type InfraDifference } from "./infra-diff.ts";
import { type InfraPlan, LAMBDA_VISIBILITY_FACTOR } from "./infra-plan.ts";

export interface LiveKey {
  readonly arn: string;
  readonly enabled: boolean;
  readonly rotated: boolean;
  readonly policy: string | undefined;
}

/** One metric of an alarm, or the formula of its first expression. */
export interface LiveAlarm {
  readonly metrics: readonly string[];
  readonly dimensions: readonly string[];
  readonly expression: string | undefined;
  readonly statistic: string | undefined;
  readonly operator: string | undefined;
  readonly threshold: number | undefined;
  readonly periodSeconds: number | undefined;
  readonly periods: number | undefined;
  readonly missingData: string | undefined;
}

/** The event source mapping of the queue, and the timeout of its function. */
export interface LiveMapping {
  readonly enabled: boolean;
  readonly responseTypes: readonly string[];
  readonly timeoutSeconds: number | undefined;
}

export interface LiveService {
  readonly active: boolean;
  readonly taskRole: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/** Null for what does not exist. */
export interface LiveAccount {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  /** Texts of all policies of a role. */
  readonly roles: Readonly<Record<IamRole, readonly string[] | null>>;
  readonly key: LiveKey | null;
  /** By name. */
  readonly alarms: Readonly<Record<string, LiveAlarm>>;
  readonly mapping: LiveMapping | null;
  readonly service: LiveService | null;
}

type Part = <T>(
  resource: string,
  actual: T | null | undefined,
  check: (actual: T, compare: Compare) => void,
) => void;

/** Everything in which the account differs from the plan. */
export function accountDifferences(plan: InfraPlan, live: LiveAccount): InfraDifference[] {
  const differences: InfraDifference[] = [];
  const part: Part = (resource, actual, check) => {
    if (actual === null || actual === undefined) {
      differences.push({ resource, setting: EXISTENCE, expected: "exists", actual: "missing" });
      return;
    }
    check(actual, (setting, expected, value = "missing") => {
      if (value !== expected) differences.push({ resource, setting, expected, actual: value });
    });
  };
  const aws = awsOf(live);
  for (const role of IAM_ROLES) {
    part(`role ${plan.stem}-${role}`, live.roles[role], (policies, compare) =>
      checkRole(plan, aws, role, policies, compare),
    );
  }
  if (plan.kms) part(`key alias/${plan.stem}`, live.key, checkKey(plan, aws));
  for (const row of plan.alarms ? alarmsOf(plan) : []) {
    const name = `${plan.stem}-${row.name}`;
    part(`alarm ${name}`, live.alarms[name], (alarm, compare) =>
      checkAlarm(plan, row, alarm, compare),
    );
  }
  if (plan.compute === "lambda") part("event source mapping", live.mapping, checkMapping(plan));
  if (plan.compute === "ecs") part(`service ${plan.stem}`, live.service, checkService(plan));
  return differences;
}

function awsOf({ partition, region, account, key }: LiveAccount): AwsAccount {
  const keyArn = key?.arn ?? "";
  const tasks = { cluster: "", family: "", roleArns: [], resultsArn: null };
  return { partition, region, account, keyArn, tasks };
}

type Request = readonly [action: string, resource: string];

function checkRole(
  plan: InfraPlan,
  aws: AwsAccount,
  role: IamRole,
  policies: readonly string[],
  compare: Compare,
): void {
  const verdict = ([action, resource]: Request, more = {}): string => {
    const context = { "aws:securetransport": "true", ...more };
    const request = { principal: null, action, resource, context };
    const verdicts = policies.map((policy) => decideAccess(policy, request));
    return verdicts.includes("allow") && !verdicts.includes("deny") ? "allowed" : "refused";
  };
  // Tasks are those of an account (A3), and without a key nothing can be asked about it.
  const asked = aws.keyArn === "" ? { ...plan, kms: false } : plan;
  const wanted = policiesOf({ ...asked, dispatch: false }, aws)[role]?.Statement ?? [];
  for (const request of wanted.flatMap(requestsOf)) {
    compare(request.join(" on "), "allowed", verdict(request)); // A2
  }
  for (const request of forbiddenRequests(plan, aws)) {
    compare(request.join(" on "), "refused", verdict(request)); // A2
  }
}

function requestsOf({ Action, Resource }: PolicyStatement): Request[] {
  return Action.flatMap((action) =>
    Resource.map((resource) => [action, resource.replaceAll("*", "any")] as const),
  );
}

/** Deleting what the pipeline is made of, and what belongs to others. */
function forbiddenRequests(plan: InfraPlan, aws: AwsAccount): Request[] {
  const { queue, bucket, ledger } = resourceArns(plan, aws);
  const { partition, region, account } = aws;
  const given = (action: string, resource: unknown): Request[] =>
    typeof resource === "string" ? [[action, resource]] : [];
  return [
    ...given("sqs:DeleteQueue", queue),
    ...given("sqs:ReceiveMessage", `arn:${partition}:sqs:${region}:${account}:another-queue`),
    ...given("s3:DeleteBucket", bucket),
    ...given("s3:GetObject", `arn:${partition}:s3:::another-bucket/any`),
    ...given("dynamodb:DeleteTable", ledger),
    ...given("iam:PutRolePolicy", `arn:${partition}:iam::${account}:role/${plan.stem}-consumer`),
  ];
}

function checkKey(plan: InfraPlan, { partition, region, account }: AwsAccount) {
  return ({ arn, enabled, rotated, policy }: LiveKey, compare: Compare): void => {
    compare("state", "enabled", enabled ? "enabled" : "disabled");
    compare("rotation", "on", rotated ? "on" : "off");
    const root = { arn: `arn:${partition}:iam::${account}:root` };
    const own = { principal: root, action: "kms:Decrypt", resource: arn, context: {} };
    compare("roles of the account", "allowed", textOf(decideAccess(policy, own) === "allow"));
    const uses = (service: string, sourceArn: string) =>
      ["kms:GenerateDataKey", "kms:Decrypt"].every((action) =>
        allowsService(policy, {
          service,
          action,
          resource: arn,
          sourceArn,
          sourceAccount: account,
        }),
      );
    if (plan.topic !== null) {
      const topicArn = `arn:${partition}:sns:${region}:${account}:${plan.topic}`;
      compare("use by the topic", "allowed", textOf(uses("sns.amazonaws.com", topicArn)));
    }
    if (plan.bucket !== null) {
      const bucketArn = `arn:${partition}:s3:::${plan.bucket.name}`;
      compare("use by the bucket", "allowed", textOf(uses("s3.amazonaws.com", bucketArn)));
    }
  };
}

function textOf(allowed: boolean): string {
  return allowed ? "allowed" : "refused";
}

function checkAlarm(plan: InfraPlan, row: AlarmRow, alarm: LiveAlarm, compare: Compare): void {
  const names: Readonly<Record<AlarmedResource, string | null>> = {
    queue: plan.queue,
    "dead-letter-queue": plan.deadLetterQueue,
    topic: plan.topic,
  };
  const metrics = row.kind === "formula" ? Object.values(row.metrics) : [row.metric];
  compare("metric", metrics.join(", "), alarm.metrics.join(", "));
  compare("on", String(names[row.on]), [...new Set(alarm.dimensions)].join(", "));
  compare("operator", row.operator, alarm.operator);
  compare("statistic", row.statistic, alarm.statistic);
  compare("period", String(row.periodSeconds), String(alarm.periodSeconds));
  compare("periods", String(row.periods), String(alarm.periods));
  compare("missing data", "notBreaching", alarm.missingData);
  if (row.kind === "formula") compare("formula", row.formula, alarm.expression);
  if (row.kind === "anomaly") {
    const band = `ANOMALY_DETECTION_BAND(actual, ${row.deviations})`;
    compare("band", band, alarm.expression);
  } else {
    compare("threshold", String(row.threshold), String(alarm.threshold));
  }
}

function checkMapping({ visibilitySeconds }: InfraPlan) {
  return ({ enabled, responseTypes, timeoutSeconds }: LiveMapping, compare: Compare): void => {
    compare("state", "enabled", enabled ? "enabled" : "disabled");
    compare("responses", "ReportBatchItemFailures", responseTypes.join(", ") || "whole batches");
    if (timeoutSeconds === undefined) return;
    const longest = Math.floor(visibilitySeconds / LAMBDA_VISIBILITY_FACTOR);
    const expected = `at most ${longest} s`;
    const fits = timeoutSeconds <= longest;
    compare("timeout of the function", expected, fits ? expected : `${timeoutSeconds} s`);
  };
}

function checkService({ stem, ledgerTable }: InfraPlan) {
  return ({ active, taskRole, environment }: LiveService, compare: Compare): void => {
    compare("state", "active", active ? "active" : "inactive");
    compare("role of the tasks", `${stem}-consumer`, taskRole?.split("/").at(-1));
    if (ledgerTable === null) return;
    compare("TIDEGATE_LEDGER", `dynamodb://${ledgerTable}`, environment.TIDEGATE_LEDGER);
  };
}
