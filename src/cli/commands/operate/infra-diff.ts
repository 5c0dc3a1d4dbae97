// tidegate infra diff: compares a pipeline file with the resources that exist.

import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle } from "../../command.ts";
import { planFlags, planOf } from "./infra.ts";

const { alarms, backfill, compute, kms, ledger, listing, outbox, outputs, prefix, via } = planFlags;

export const infraDiff = command({
  name: "infra diff",
  summary: "Compare a pipeline file with its resources on AWS or an endpoint; changes nothing.",
  argument: { name: "PIPELINE", doc: "Pipeline file." },
  flags: {
    endpoint: {
      ...text("URL", null, "SQS, SNS and S3 endpoint (default: AWS, or AWS_ENDPOINT_URL)."),
      env: SETTINGS.endpoint.env,
    },
    "dynamodb-endpoint": text(
      "URL",
      null,
      "DynamoDB endpoint (default: AWS; with --endpoint, tables are not compared).",
    ),
    region: {
      ...text("REGION", null, "Region of the resources (default: what the AWS SDK finds)."),
      env: SETTINGS.region.env,
    },
    via,
    ledger,
    listing,
    outbox,
    kms,
    "claim-checks": planFlags["claim-checks"],
    alarms,
    compute,
    backfill,
    outputs,
    account: toggle("Also compare roles, key, alarms and compute; needs the right to read them."),
    cluster: text("CLUSTER", null, "Cluster of the ECS service (default: the account's default)."),
    prefix,
    json: toggle("Print the differences as JSON."),
  },
  async run({ argument: file = "", flags, out }) {
    const plan = await planOf(file, flags);
    const { compareResources, comparesTables, EXISTENCE } = await import(
      "../../../operate/infra.ts"
    );
    const { endpoint, region, account, cluster, "dynamodb-endpoint": dynamodbEndpoint } = flags;
    const options = { endpoint, dynamodbEndpoint, region, account, cluster };
    const differences = await compareResources(plan, options);
    if (flags.json) {
      out.line(JSON.stringify({ differences }));
    } else {
      for (const { resource, setting, expected, actual } of differences) {
        if (setting === EXISTENCE) out.line(`${resource} does not exist`);
        else out.line(`${resource}: ${setting} is ${actual}, the pipeline expects ${expected}`);
      }
      if (differences.length === 0) out.line("no differences");
      if (!comparesTables(options))
        out.note("Tables were not compared; set --dynamodb-endpoint for that.");
      if (!account) {
        out.note("Roles, key, alarms and compute were not compared; add --account for that.");
      }
    }
    return differences.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
});
