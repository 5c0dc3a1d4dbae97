// `infra diff --account` through the command line, against moto: exit codes, JSON, and one sentence
// for an account that cannot be compared.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeleteRolePolicyCommand } from "@aws-sdk/client-iam";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { planInfra } from "../../src/infra/infra-plan.ts";
import { infraFiles } from "../../src/run/infra/infra-files.ts";
import { pipelineFacts } from "../../src/run/infra/pipeline-facts.ts";
import { loadPipeline } from "../../src/run/open/load-pipeline.ts";
import { endOf, startCommand } from "../support/command-process.ts";
import { useForeignServer } from "../support/foreign/foreign-servers.ts";
import {
  type AccountClients,
  accountClients,
  createAccount,
} from "../support/infra/create-account.ts";
import { createResources } from "../support/infra/create-resources.ts";
import { evaluateTerraform } from "../support/infra/evaluate-terraform.ts";
import { ROOT_VARIABLES } from "../support/infra/plans.ts";
import { requirePart } from "../support/requires.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("infra-account");
const moto = await useForeignServer("moto");
const { terraform } = requirePart("terraform");
const FLAGS = ["--compute", "lambda", "--backfill"];
const ACCOUNT = "123456789012"; // moto's.

function pipelineFile(name: string, source: string): string {
  const file = join(folder, `${name}.ts`);
  const spec = `{ name: "${name}", source: ${source}, sink: () => {}, handler() {} }`;
  writeFileSync(file, `import { pipeline } from "tidegate";\nexport default pipeline(${spec});\n`);
  return file;
}

describe.skipIf(moto === null)("infra diff --account", () => {
  const endpoint = moto ?? "";
  let orders: string;
  let clients: AccountClients;

  beforeAll(async () => {
    orders = pipelineFile("orders", '{ bucket: "acme-orders", prefix: "in/" }');
    clients = accountClients(endpoint);
    const facts = pipelineFacts(await loadPipeline(orders));
    const plan = planInfra(facts, { compute: "lambda", backfill: true });
    const own = mkdtempSync(join(folder, "terraform-"));
    const evaluated = await evaluateTerraform(terraform, own, infraFiles(plan), ROOT_VARIABLES);
    // Evaluated for the account of the embedded cloud.
    const resources = JSON.parse(JSON.stringify(evaluated).replaceAll("000000000000", ACCOUNT));
    await createResources(resources, { cloud: endpoint, dynamodb: endpoint });
    await createAccount(clients, plan);
  });

  afterAll(() => {
    for (const client of Object.values(clients)) client.destroy();
  });

  const diff = async (file: string, ...flags: string[]) =>
    await endOf(
      startCommand(["infra", "diff", file, "--account", "--endpoint", endpoint, ...flags]),
    );

  test("the exit code is 0 if nothing differs", async () => {
    const ended = await diff(orders, ...FLAGS, "--dynamodb-endpoint", endpoint);
    expect(ended).toMatchObject({ code: 0, out: "no differences\n", err: "" });
    const asJson = await diff(orders, ...FLAGS, "--dynamodb-endpoint", endpoint, "--json");
    expect([asJson.code, JSON.parse(asJson.out)]).toEqual([0, { differences: [] }]);
  });

  test("the exit code is 1 with differences, as lines and as JSON", async () => {
    const role = { RoleName: "orders-producer", PolicyName: "pipeline" };
    await clients.iam.send(new DeleteRolePolicyCommand(role));
    const object = "s3:PutObject on arn:aws:s3:::acme-orders/in/any";
    const resource = "role orders-producer";
    const { code, out, err } = await diff(orders, ...FLAGS);
    const line = `${resource}: ${object} is refused, the pipeline expects allowed\n`;
    const note = "Tables were not compared; set --dynamodb-endpoint for that.\n";
    expect([code, out, err]).toEqual([1, line, note]);
    const asJson = await diff(orders, ...FLAGS, "--json");
    const difference = { resource, setting: object, expected: "allowed", actual: "refused" };
    expect([asJson.code, JSON.parse(asJson.out)]).toEqual([1, { differences: [difference] }]);
  });

  test("a flag that the roles were not made for is a difference", async () => {
    const { code, out } = await diff(orders, ...FLAGS, "--outputs", "s3://acme-out/reports");
    expect(code).toBe(1);
    expect(out).toContain(
      "role orders-consumer: s3:PutObject on arn:aws:s3:::acme-out/reports/any is refused",
    );
  });
});
