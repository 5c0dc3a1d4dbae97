// IAM policies: the policy of each role of a pipeline as JSON, from the IAM table.

import {
  IAM_ROLES,
  IAM_TABLE,
  type IamCondition,
  type IamResource,
  type IamRole,
  type IamRow,
} from "./iam-table.ts";
import type { InfraPlan } from "./infra-plan.ts";
import { LEDGER_LIST_INDEXES } from "./table-diff.ts";

export interface AwsAccount {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
  readonly keyArn: string;
  readonly tasks: AwsTasks;
}

/** The tasks that `tidegate dispatch` starts. */
export interface AwsTasks {
  /** Name of the cluster. */
  readonly cluster: string;
  /** Family of the task definition. */
  readonly family: string;
  readonly roleArns: readonly string[];
  /** `arn:aws:s3:::bucket/prefix`; null if tasks write no results. */
  readonly resultsArn: string | null;
}

/** Placeholders of a policy that is not yet for one account. */
export const ANY_ACCOUNT: AwsAccount = {
  partition: "aws",
  region: "$" + "{region}",
  account: "$" + "{account}",
  keyArn: "$" + "{key_arn}",
  tasks: {
    cluster: "$" + "{cluster}",
    family: "$" + "{task_family}",
    roleArns: ["$" + "{task_role_arn}"],
    resultsArn: "$" + "{task_results_arn}",
  },
};

export interface PolicyStatement {
  readonly Sid: string;
  readonly Effect: "Allow";
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly PolicyStatement[];
}

/** Rows of one role and service with the same resources, which become one statement. */
export interface StatementRows {
  readonly sid: string;
  readonly resources: readonly IamResource[];
  readonly actions: readonly string[];
  readonly condition: IamCondition | null;
}

/** The statements of a role, in the order of the table. */
export function statementsOfRole(
  role: IamRole,
  table: readonly IamRow[] = IAM_TABLE,
): StatementRows[] {
  const groups = new Map<string, IamRow[]>();
  for (const row of table) {
    if (row.role !== role) continue;
    const name = sidOf(row);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([sid, rows]) => ({
    sid,
    resources: rows[0]?.resources ?? [],
    actions: rows.map(({ action }) => action),
    condition: rows[0]?.condition ?? null,
  }));
}

/** `SqsQueueDeadLetterQueue`: service and resources, which tell statements apart. */
function sidOf({ action, resources }: IamRow): string {
  const words = [action.split(":")[0] ?? "", ...resources.flatMap((name) => name.split("-"))];
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** The policies of all roles; a role without a right has none. */
export function policiesOf(
  plan: InfraPlan,
  aws: AwsAccount = ANY_ACCOUNT,
  table: readonly IamRow[] = IAM_TABLE,
): Readonly<Partial<Record<IamRole, PolicyDocument>>> {
  const arns = resourceArns(plan, aws);
  const policies: Partial<Record<IamRole, PolicyDocument>> = {};
  for (const role of IAM_ROLES) {
    const statements = statementsOfRole(role, table).flatMap(({ sid, condition, ...rows }) => {
      const given = rows.resources.flatMap((name) => arns[name] ?? []); // I2 of iam-table.ts
      if (given.length === 0) return [];
      const Condition = condition === null ? {} : { Condition: conditionOf(condition, aws) };
      const Effect = "Allow" as const;
      return [{ Sid: sid, Effect, Action: rows.actions, Resource: given, ...Condition }];
    });
    if (statements.length > 0) policies[role] = { Version: "2012-10-17", Statement: statements };
  }
  return policies;
}

function conditionOf(condition: IamCondition, aws: AwsAccount) {
  const { partition, region, account, tasks } = aws;
  if (condition === "passed-to-ecs") {
    return { StringEquals: { "iam:PassedToService": "ecs-tasks.amazonaws.com" } };
  }
  const cluster = `arn:${partition}:ecs:${region}:${account}:cluster/${tasks.cluster}`;
  return { ArnEquals: { "ecs:cluster": cluster } };
}

/** The ARN of each resource that the pipeline has. */
export function resourceArns(
  plan: InfraPlan,
  aws: AwsAccount,
): Readonly<Record<IamResource, string | readonly string[] | null>> {
  const { partition, region, account, keyArn } = aws;
  const arn = (service: string, name: string | null) =>
    name === null ? null : `arn:${partition}:${service}:${region}:${account}:${name}`;
  const bucketArn = (name: string | null) =>
    name === null ? null : `arn:${partition}:s3:::${name}`;
  const table = (name: string | null, rest = "") =>
    arn("dynamodb", name === null ? null : `table/${name}${rest}`);
  const lists = plan.listing ? LEDGER_LIST_INDEXES : {};
  const { bucket, claimCheckBucket, queue, topic } = plan;
  return {
    ...taskArns(plan, aws),
    queue: arn("sqs", queue),
    "dead-letter-queue": arn("sqs", plan.deadLetterQueue),
    "late-queue": arn("sqs", plan.lateQueue),
    topic: arn("sns", topic),
    "target-queue": bucket === null && topic === null ? arn("sqs", queue) : null,
    "target-topic": bucket === null ? arn("sns", topic) : null,
    bucket: bucketArn(bucket?.name ?? null),
    "listed-bucket": plan.backfill ? bucketArn(bucket?.name ?? null) : null,
    objects: bucket === null ? null : `${bucketArn(bucket.name)}/${bucket.prefix}*`,
    "claim-check-bucket": bucketArn(claimCheckBucket),
    "claim-checks": claimCheckBucket === null ? null : `${bucketArn(claimCheckBucket)}/*`,
    "archived-messages":
      plan.archive === null ? null : `${bucketArn(plan.archive.bucket)}/${plan.archive.prefix}*`,
    ledger: table(plan.ledgerTable),
    "ledger-notes": table(plan.ledgerTable, "/index/notes"),
    "ledger-lists": Object.keys(lists).flatMap(
      (index) => table(plan.ledgerTable, `/index/${index}`) ?? [],
    ),
    outbox: table(plan.outboxTable),
    outputs: plan.outputs.map((name) => `${bucketArn(name)}/*`),
    "output-buckets": [...new Set(plan.outputs.map((name) => name.split("/")[0] ?? ""))].flatMap(
      (name) => bucketArn(name) ?? [],
    ),
    key: plan.kms ? keyArn : null,
  };
}

type TaskResource =
  | "task-definition"
  | "tasks"
  | "any-task"
  | "task-roles"
  | "task-results-bucket"
  | "task-results";

function taskArns(plan: InfraPlan, aws: AwsAccount) {
  const { partition, region, account, tasks } = aws;
  const { cluster, family, roleArns, resultsArn } = tasks;
  const ecs = `arn:${partition}:ecs:${region}:${account}`;
  const arns: Readonly<Record<TaskResource, string | readonly string[] | null>> = {
    "task-definition": `${ecs}:task-definition/${family}:*`,
    tasks: `${ecs}:task/${cluster}/*`,
    "any-task": "*",
    "task-roles": roleArns,
    "task-results-bucket": resultsArn?.split("/")[0] ?? null,
    "task-results": resultsArn === null ? null : `${resultsArn}/*`,
  };
  if (plan.dispatch) return arns;
  return Object.fromEntries(Object.keys(arns).map((name) => [name, null])) as {
    readonly [name in TaskResource]: null;
  };
}
