// The IAM guide lists exactly the IAM table, and the table covers every AWS call in the code.
// test/integration/infra/iam-calls.test.ts compares it with calls that are really made.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  IAM_RESOURCE_TEXT,
  IAM_ROLES,
  IAM_SETUP_ACTIONS,
  IAM_TABLE,
} from "../../src/infra/iam-table.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/iam.md"), "utf8");

test.each(IAM_ROLES)("the guide lists the rights of the %s as the table does", (role) => {
  const heading = `## ${role.charAt(0).toUpperCase()}${role.slice(1)}`;
  const section = page.slice(page.indexOf(heading));
  const rows = IAM_TABLE.filter((row) => row.role === role);
  expect(rowsOf(section, "action")).toEqual(
    rows.map(({ action, resources, why }) => [
      `\`${action}\``,
      resources.map((name) => IAM_RESOURCE_TEXT[name]).join("; "),
      why,
    ]),
  );
});

test("the guide lists the actions that create tables", () => {
  const section = page.slice(page.indexOf("**Creating tables**"));
  const listed = [...section.matchAll(/`(dynamodb:\w+)`/g)].map(([, action]) => action);
  expect(listed).toEqual([...IAM_SETUP_ACTIONS]);
});

test("no action and no role has a wildcard", () => {
  expect(IAM_TABLE.filter(({ action }) => action.includes("*"))).toEqual([]);
});

/** Calls that IAM authorises as other actions. */
const AUTHORISED_AS: Readonly<Record<string, readonly string[]>> = {
  ChangeMessageVisibilityBatch: ["ChangeMessageVisibility"],
  DeleteMessageBatch: ["DeleteMessage"],
  SendMessageBatch: ["SendMessage"],
  PublishBatch: ["Publish"],
  ListObjectVersions: ["ListBucketVersions"],
  HeadObject: ["GetObject"],
  GetObject: ["GetObject", "GetObjectVersion"],
  GetObjectTagging: ["GetObjectTagging", "GetObjectVersionTagging"],
  GetBucketNotificationConfiguration: ["GetBucketNotification"],
  GetPublicAccessBlock: ["GetBucketPublicAccessBlock"],
  GetBucketEncryption: ["GetEncryptionConfiguration"],
  TransactWriteItems: ["PutItem", "DeleteItem", "ConditionCheckItem"],
};
/** No request of their own: S3 and ECS check them for a missing object and the roles of a task. */
const WITHOUT_CALL = ["s3:ListBucket", "iam:PassRole"];

/** Calls of the console that no role may make; the guide names the action. */
const BY_HAND: Readonly<Record<string, string>> = {
  ListQueues: "sqs:ListQueues",
  PurgeQueue: "sqs:PurgeQueue",
  StartMessageMoveTask: "sqs:StartMessageMoveTask",
};

test("the guide names the actions of the console that no role has", () => {
  for (const action of Object.values(BY_HAND)) expect(page).toContain(`\`${action}\``);
});

const CALLERS = [
  "src/aws/**/*.ts",
  "src/stores/dynamodb/**/*.ts",
  "src/operate/infra/read-live.ts",
  "src/operate/cloud/aws-cloud.ts",
  "src/adapters/task/ecs-launcher.ts",
];

test("the table has the actions of every call in the code, and no others", () => {
  const files = globSync(CALLERS, { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const calls = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const matches = text.matchAll(/(?:new (?:sdk\.|aws\.)?(\w+)Command\(|paginate([A-Z]\w+)\()/g);
    return [...matches].map(([, command, paginated]) => command ?? paginated ?? "");
  });
  const ofRoles = calls.filter((name) => BY_HAND[name] === undefined);
  const called = new Set(ofRoles.flatMap((name) => AUTHORISED_AS[name] ?? [name]));
  const listed = [...IAM_TABLE.map(({ action }) => action), ...IAM_SETUP_ACTIONS]
    .filter((action) => !action.startsWith("kms:") && !WITHOUT_CALL.includes(action))
    .map((action) => action.split(":")[1] ?? "");
  expect([...new Set(listed)].toSorted()).toEqual([...called].toSorted());
});
