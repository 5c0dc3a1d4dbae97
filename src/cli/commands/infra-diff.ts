// tidegate infra diff: compares a pipeline file with the resources that exist.

import { SETTINGS } from "../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle } from "../command.ts";
import { planFlags, planOf } from "./infra.ts";

const { compute, kms, ledger, listing, outbox, prefix, via } = planFlags;

export const infraDiff = command({
  name: "infra diff",
  summary: "Compare a pipeline file with its queues, topic, bucket and tables; changes nothing.",
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
    compute,
    prefix,
    json: toggle("Print the differences as JSON."),
  },
  async run({ argument: file = "", flags, out }) {
    const plan = await planOf(file, flags);
    const [{ readLive }, { EXISTENCE, infraDifferences }] = await Promise.all([
      import("../../run/infra/read-live.ts"),
      import("../../infra/infra-diff.ts"),
    ]);
    const { endpoint, region } = flags;
    const skipsTables = endpoint !== undefined && flags["dynamodb-endpoint"] === undefined;
    const dynamoEndpoint = skipsTables ? null : flags["dynamodb-endpoint"];
    const compared = skipsTables ? { ...plan, ledgerTable: null, outboxTable: null } : plan;
    const live = await readLive(compared, { endpoint, region, dynamoEndpoint });
    const differences = infraDifferences(compared, live);
    if (flags.json) {
      out.line(JSON.stringify({ differences }));
    } else {
      for (const { resource, setting, expected, actual } of differences) {
        if (setting === EXISTENCE) out.line(`${resource} does not exist`);
        else out.line(`${resource}: ${setting} is ${actual}, the pipeline expects ${expected}`);
      }
      if (differences.length === 0) out.line("no differences");
      if (skipsTables) out.note("Tables were not compared; set --dynamodb-endpoint for that.");
      out.note("Roles, keys, alarms and compute are not compared; `terraform plan` does that.");
    }
    return differences.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
});
