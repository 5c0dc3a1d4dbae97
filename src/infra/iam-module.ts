// IAM module: the file policies.tf of the Terraform module `iam`, from the IAM table.
//   M1. The file in infra/terraform is exactly this text, and a test compares them.
//   M2. A resource that the caller did not pass is null, and statements without a resource are left
//       out.

import { expression, type HclValue, hclAttributes } from "./hcl.ts";
import { statementsOfRole } from "./iam-policies.ts";
import { IAM_ROLES, type IamCondition, type IamResource, type IamRole } from "./iam-table.ts";

/** What each resource is inside the module: a list of ARNs. */
const RESOURCE_LISTS: Readonly<Record<IamResource, string>> = {
  queue: "[var.queue_arn]",
  "dead-letter-queue": "[var.dead_letter_queue_arn]",
  // In the account and region of the queue.
  "late-queue": `[for name in compact([var.late_queue_name]) : replace(var.queue_arn, "/[^:]+$/", name)]`,
  topic: "compact([var.topic_arn])",
  "target-queue": "compact([var.target_queue_arn])",
  "target-topic": "compact([var.target_topic_arn])",
  bucket: "compact([var.bucket_arn])",
  "listed-bucket": "[for arn in compact([var.bucket_arn]) : arn if var.backfill]",
  objects: `[for arn in compact([var.bucket_arn]) : "\${arn}/\${var.prefix}*"]`,
  "claim-check-bucket": "compact([var.claim_check_bucket_arn])",
  "claim-checks": `[for arn in compact([var.claim_check_bucket_arn]) : "\${arn}/*"]`,
  // In the partition of the queue.
  "archived-messages": `[for name in compact([var.archived_messages]) : "arn:\${split(":", var.queue_arn)[1]}:s3:::\${name}*"]`,
  ledger: "compact([var.ledger_table_arn])",
  "ledger-notes": `[for arn in compact([var.ledger_table_arn]) : "\${arn}/index/notes"]`,
  "ledger-lists": "var.ledger_list_index_arns",
  outbox: "compact([var.outbox_table_arn])",
  "task-definition": `[for arn in compact([var.cluster_arn]) : "\${split(":cluster/", arn)[0]}:task-definition/\${var.task_family}:*"]`,
  tasks: `[for arn in compact([var.cluster_arn]) : "\${replace(arn, ":cluster/", ":task/")}/*"]`,
  "any-task": `[for arn in compact([var.cluster_arn]) : "*"]`,
  "task-roles": "var.task_role_arns",
  "task-results-bucket": `[for arn in compact([var.task_results_arn]) : split("/", arn)[0]]`,
  "task-results": `[for arn in compact([var.task_results_arn]) : "\${arn}/*"]`,
  outputs: `[for name in var.outputs : "\${local.s3_arn}\${name}/*"]`,
  "output-buckets": `distinct([for name in var.outputs : "\${local.s3_arn}\${split("/", name)[0]}"])`,
  key: "compact([var.key_arn])",
};

const CONDITIONS: Readonly<Record<IamCondition, HclValue>> = {
  "in-the-cluster": { ArnEquals: { "ecs:cluster": expression("var.cluster_arn") } },
  "passed-to-ecs": { StringEquals: { "iam:PassedToService": "ecs-tasks.amazonaws.com" } },
};

const HEAD = `# Policies: what each role may do. Generated from the IAM table of Tidegate; do not edit it by hand.
# docs/guides/iam.md explains every line.
`;

const POLICIES = `  policies = {
    for role, statements in local.statements : role => jsonencode({
      Version   = "2012-10-17"
      Statement = [for statement in statements : statement if length(statement.Resource) > 0]
    })
  }
`;

/** The whole file (M1). */
export function iamModuleFile(): string {
  const lists = Object.entries(RESOURCE_LISTS).map(([name, list]) => [
    localName(name as IamResource),
    expression(list),
  ]);
  const resources = hclAttributes({ resources: Object.fromEntries(lists) }, 1);
  const statements = hclAttributes(
    { statements: Object.fromEntries(IAM_ROLES.map((role) => [role, statementsOf(role)])) },
    1,
  );
  return `${HEAD}\nlocals {\n${resources}\n\n${statements}\n\n${POLICIES}}\n`;
}

function statementsOf(role: IamRole) {
  return statementsOfRole(role).map(({ sid, resources, actions, condition }) => {
    const lists = resources.map((name) => `local.resources.${localName(name)}`);
    const list = lists.length === 1 ? (lists[0] ?? "") : `concat(${lists.join(", ")})`;
    // M2
    const statement = { Sid: sid, Effect: "Allow", Action: actions, Resource: expression(list) };
    return condition === null ? statement : { ...statement, Condition: CONDITIONS[condition] };
  });
}

function localName(resource: IamResource): string {
  return resource.replaceAll("-", "_");
}
