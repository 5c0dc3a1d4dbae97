// `infra diff --account` against moto, through the real clients of the AWS SDK: what the tables
// describe has no difference, and each change of it is reported.

import { DeleteAlarmsCommand } from "@aws-sdk/client-cloudwatch";
import { DeleteRolePolicyCommand, PutRolePolicyCommand } from "@aws-sdk/client-iam";
import { DisableKeyRotationCommand, PutKeyPolicyCommand } from "@aws-sdk/client-kms";
import { UpdateFunctionConfigurationCommand } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountDifferences } from "../../../src/infra/account-diff.ts";
import { alarmsOf } from "../../../src/infra/alarm-table.ts";
import { type PipelineFacts, planInfra } from "../../../src/infra/infra-plan.ts";
import { readAccount } from "../../../src/operate/infra/read-account.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import {
  type AccountClients,
  accountClients,
  type CreatedAccount,
  createAccount,
  keyPolicy,
  putAlarm,
} from "../../support/infra/create-account.ts";

const FACTS: PipelineFacts = {
  name: "orders",
  bucket: "acme-orders",
  prefix: "in/",
  queue: null,
  visibilityMs: 60_000,
  maxReceiveCount: { standard: 25, fifo: 1_000 },
};
const SERVICE = planInfra(FACTS, { kms: true, compute: "ecs", backfill: true });
const FUNCTION = planInfra(FACTS, { compute: "lambda", prefix: "trips" });
const ABSENT = planInfra(FACTS, { kms: true, compute: "ecs", prefix: "absent" });

const endpoint = await useForeignServer("moto");

describe.skipIf(endpoint === null)("the account of a pipeline", () => {
  const server = endpoint ?? "";
  let clients: AccountClients;
  let service: CreatedAccount;
  let mapped: CreatedAccount;

  beforeAll(async () => {
    clients = accountClients(server);
    service = await createAccount(clients, SERVICE);
    mapped = await createAccount(clients, FUNCTION);
  });

  afterAll(() => {
    for (const client of Object.values(clients)) client.destroy();
  });

  const differences = async (plan: typeof SERVICE, { queueArn } = service) => {
    const live = await readAccount(plan, queueArn, { endpoint: server, cluster: "jobs" });
    return accountDifferences(plan, live).map(
      ({ resource, setting, expected, actual }) =>
        `${resource}: ${setting} is ${actual}, not ${expected}`,
    );
  };

  test("what the tables describe has no difference", async () => {
    expect(await differences(SERVICE)).toEqual([]);
    expect(await differences(FUNCTION, mapped)).toEqual([]);
  });

  test("what does not exist is named", async () => {
    const lines = await differences(ABSENT);
    expect(lines).toHaveLength(3 + 1 + alarmsOf(ABSENT).length + 1);
    expect(lines).toEqual(
      expect.arrayContaining([
        "role absent-consumer: existence is missing, not exists",
        "key alias/absent: existence is missing, not exists",
        "alarm absent-dead-letters: existence is missing, not exists",
        "service absent: existence is missing, not exists",
      ]),
    );
  });

  test("a right that is missing, and one that is too wide, are named with their resource", async () => {
    const producer = { RoleName: "orders-producer", PolicyName: "pipeline" };
    await clients.iam.send(new DeleteRolePolicyCommand(producer));
    const statement = { Effect: "Allow", Action: "sqs:*", Resource: "*" };
    const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
    const wide = { RoleName: "orders-operator", PolicyName: "wide", PolicyDocument };
    await clients.iam.send(new PutRolePolicyCommand(wide));
    const account = service.queueArn.split(":")[4];
    const lines = await differences(SERVICE);
    expect(lines).toContain(
      "role orders-producer: s3:PutObject on arn:aws:s3:::acme-orders/in/any is refused, not allowed",
    );
    expect(lines).toContain(
      `role orders-operator: sqs:DeleteQueue on ${service.queueArn} is allowed, not refused`,
    );
    expect(lines).toContain(
      "role orders-operator: sqs:ReceiveMessage on " +
        `arn:aws:sqs:us-east-1:${account}:another-queue is allowed, not refused`,
    );
  });

  test("a key that its senders cannot use, or that does not rotate, is named", async () => {
    const account = service.queueArn.split(":")[4] ?? "";
    const KeyId = service.keyId;
    const Policy = keyPolicy(account, ["s3.amazonaws.com"]);
    await clients.kms.send(new PutKeyPolicyCommand({ KeyId, PolicyName: "default", Policy }));
    await clients.kms.send(new DisableKeyRotationCommand({ KeyId }));
    const lines = await differences(SERVICE);
    expect(lines.filter((line) => line.startsWith("key "))).toEqual([
      "key alias/orders: rotation is off, not on",
      "key alias/orders: use by the topic is refused, not allowed",
    ]);
  });

  test("an alarm that is always on, or that is gone, is named", async () => {
    const [first] = alarmsOf(SERVICE);
    if (first === undefined) throw new Error("the table is empty");
    const change = { ComparisonOperator: "GreaterThanOrEqualToThreshold" } as const;
    await putAlarm(clients, SERVICE, first, change);
    await clients.cloudwatch.send(new DeleteAlarmsCommand({ AlarmNames: ["orders-age"] }));
    const lines = await differences(SERVICE);
    expect(lines.filter((line) => line.startsWith("alarm "))).toEqual([
      "alarm orders-dead-letters: operator is GreaterThanOrEqualToThreshold, not GreaterThanThreshold",
      "alarm orders-age: existence is missing, not exists",
    ]);
  });

  test("a function that may run longer than a sixth of the visibility timeout is named", async () => {
    const slow = { FunctionName: "trips", Timeout: 300 };
    await clients.lambda.send(new UpdateFunctionConfigurationCommand(slow));
    expect(await differences(FUNCTION, mapped)).toEqual([
      "event source mapping: timeout of the function is 300 s, not at most 120 s",
    ]);
  });
});
