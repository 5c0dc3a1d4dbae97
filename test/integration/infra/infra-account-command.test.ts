// `infra diff --account` through the command line. The embedded cloud has the queues, the topic and
// the bucket, and moto the tables, roles, alarms and the service. bad-infra.test.ts has what
// cannot be compared.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DynamoDBClient, UpdateContinuousBackupsCommand } from "@aws-sdk/client-dynamodb";
import { DeleteRolePolicyCommand } from "@aws-sdk/client-iam";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { planInfra } from "../../../src/infra/infra-plan.ts";
import { infraFiles } from "../../../src/operate/infra/infra-files.ts";
import { pipelineFacts } from "../../../src/operate/infra/pipeline-facts.ts";
import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { isFullSize } from "../../support/full-size.ts";
import {
  type AccountClients,
  accountClients,
  createAccount,
} from "../../support/infra/create-account.ts";
import { createResources } from "../../support/infra/create-resources.ts";
import { evaluateTerraform } from "../../support/infra/evaluate-terraform.ts";
import { ROOT_VARIABLES } from "../../support/infra/plans.ts";
import { requirePart } from "../../support/requires.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("infra-account");
const server = isFullSize ? await useForeignServer("moto") : null;
const FLAGS = ["--account", "--compute", "ecs", "--cluster", "jobs", "--backfill"];
const SOURCE = '{ bucket: "acme-orders", prefix: "in/" }';
const PIPELINE = `import { pipeline } from "tidegate";
export default pipeline({ name: "orders", source: ${SOURCE}, sink: () => {}, handler() {} });\n`;

describe.skipIf(server === null)("infra diff --account", () => {
  const { terraform } = requirePart("terraform");
  const moto = server ?? "";
  const file = join(folder, "pipeline.ts");
  let cloud: Cloud;
  let clients: AccountClients;

  beforeAll(async () => {
    writeFileSync(file, PIPELINE);
    const facts = pipelineFacts(await loadPipeline(file));
    const plan = planInfra(facts, { compute: "ecs", backfill: true });
    const own = mkdtempSync(join(folder, "terraform-"));
    const resources = await evaluateTerraform(terraform, own, infraFiles(plan), ROOT_VARIABLES);
    cloud = await startCloud({ memory: true });
    await createResources(resources, { cloud: cloud.endpoint, dynamodb: moto });
    clients = { ...accountClients(moto), sqs: accountClients(cloud.endpoint).sqs };
    await createAccount(clients, plan);
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const dynamo = new DynamoDBClient({ endpoint: moto, region: "us-east-1", credentials });
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
    const TableName = plan.ledgerTable ?? "";
    const backups = { TableName, PointInTimeRecoverySpecification };
    await dynamo.send(new UpdateContinuousBackupsCommand(backups));
    dynamo.destroy();
  });

  afterAll(async () => {
    for (const client of Object.values(clients)) client.destroy();
    await cloud.close();
  });

  const diff = async (...flags: string[]) => {
    const env = {
      AWS_ENDPOINT_URL: moto,
      AWS_ENDPOINT_URL_SQS: cloud.endpoint,
      AWS_ENDPOINT_URL_SNS: cloud.endpoint,
      AWS_ENDPOINT_URL_S3: cloud.endpoint,
    };
    const { code, out, err } = await endOf(
      startCommand(["infra", "diff", file, ...flags], { env }),
    );
    return { code, out, err };
  };

  test("the exit code is 0 if nothing differs, as text and as JSON", async () => {
    expect(await diff(...FLAGS)).toEqual({ code: 0, out: "no differences\n", err: "" });
    const { code, out } = await diff(...FLAGS, "--json");
    expect([code, JSON.parse(out)]).toEqual([0, { differences: [] }]);
  });

  test("a flag that the roles were not made for is a difference", async () => {
    const { code, out } = await diff(...FLAGS, "--outputs", "s3://acme-out/reports");
    const refused = (request: string) =>
      `role orders-consumer: ${request} is refused, the pipeline expects allowed`;
    expect([code, out.trim().split("\n")]).toEqual([
      1,
      [
        refused("s3:PutObject on arn:aws:s3:::acme-out/reports/any"),
        refused("s3:GetObject on arn:aws:s3:::acme-out/reports/any"),
        refused("s3:ListBucket on arn:aws:s3:::acme-out"),
      ],
    ]);
  });

  test("the exit code is 1 with differences, as lines and as JSON", async () => {
    const role = { RoleName: "orders-producer", PolicyName: "pipeline" };
    await clients.iam.send(new DeleteRolePolicyCommand(role));
    const setting = "s3:PutObject on arn:aws:s3:::acme-orders/in/any";
    const resource = "role orders-producer";
    const line = `${resource}: ${setting} is refused, the pipeline expects allowed\n`;
    expect(await diff(...FLAGS)).toEqual({ code: 1, out: line, err: "" });
    const { code, out } = await diff(...FLAGS, "--json");
    const difference = { resource, setting, expected: "allowed", actual: "refused" };
    expect([code, JSON.parse(out)]).toEqual([1, { differences: [difference] }]);
  });
});
