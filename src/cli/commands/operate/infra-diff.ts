// tidegate infra diff: compares a pipeline file with the resources that exist.

import { TidegateError } from "../../../core/errors.ts";
import type { InfraDifference, LiveInfra } from "../../../infra/infra-diff.ts";
import type { InfraPlan } from "../../../infra/infra-plan.ts";
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
    const [{ readLive }, { EXISTENCE, infraDifferences }] = await Promise.all([
      import("../../../operate/infra/read-live.ts"),
      import("../../../infra/infra-diff.ts"),
    ]);
    const { endpoint, region } = flags;
    const skipsTables = endpoint !== undefined && flags["dynamodb-endpoint"] === undefined;
    const dynamoEndpoint = skipsTables ? null : flags["dynamodb-endpoint"];
    const compared = skipsTables ? { ...plan, ledgerTable: null, outboxTable: null } : plan;
    const live = await readLive(compared, { endpoint, region, dynamoEndpoint });
    const differences = [
      ...infraDifferences(compared, live),
      ...(flags.account ? await accountOf(plan, live, flags) : []),
    ];
    if (flags.json) {
      out.line(JSON.stringify({ differences }));
    } else {
      for (const { resource, setting, expected, actual } of differences) {
        if (setting === EXISTENCE) out.line(`${resource} does not exist`);
        else out.line(`${resource}: ${setting} is ${actual}, the pipeline expects ${expected}`);
      }
      if (differences.length === 0) out.line("no differences");
      if (skipsTables) out.note("Tables were not compared; set --dynamodb-endpoint for that.");
      if (!flags.account) {
        out.note("Roles, key, alarms and compute were not compared; add --account for that.");
      }
    }
    return differences.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
});

/** The account is that of the queues, so one of them has to exist. */
async function accountOf(
  plan: InfraPlan,
  { queue, deadLetterQueue }: LiveInfra,
  flags: {
    readonly endpoint?: string | undefined;
    readonly region?: string | undefined;
    readonly cluster?: string | undefined;
  },
): Promise<InfraDifference[]> {
  const [{ readAccount }, { accountDifferences }] = await Promise.all([
    import("../../../operate/infra/read-account.ts"),
    import("../../../infra/account-diff.ts"),
  ]);
  const existing = queue ?? deadLetterQueue;
  if (existing === null) {
    const message = "--account needs a queue that exists, to know the account; create it first";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const [, , , , account] = existing.arn.split(":");
  if (plan.queueAccount !== null && plan.queueAccount !== account) {
    const message =
      `the credentials are of account ${account}, but the pipeline's queue is in account ` +
      `${plan.queueAccount}; use credentials of that account`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const arn = existing.arn.replace(/[^:]+$/, plan.queue);
  return accountDifferences(plan, await readAccount(plan, arn, flags));
}
