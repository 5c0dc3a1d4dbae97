// tidegate infra: Terraform from a pipeline file.

import type { InfraOptions } from "../../../operate/infra.ts";
import { command, EXIT_FAILED, EXIT_OK, oneOf, text, toggle } from "../../command.ts";
import { requiredFlag } from "../../flags/required-flag.ts";

/** The flags that decide which resources a pipeline has. */
export const planFlags = {
  via: oneOf(
    ["topic", "queue"],
    null,
    "Whether events reach the queue through a topic (default: topic for a bucket, queue for messages).",
  ),
  ledger: oneOf(["dynamodb", "postgres"], "dynamodb", "Store of the ledger; PostgreSQL is yours."),
  listing: toggle("Give a DynamoDB ledger the indexes that `records list` and `lineage` need."),
  outbox: oneOf(
    ["yes", "no"],
    null,
    "Create an outbox table for producers (default: yes for messages with a DynamoDB ledger).",
  ),
  kms: toggle("Encrypt with a customer KMS key instead of keys that the services manage."),
  "claim-checks": text("BUCKET", null, "Bucket for payloads that are larger than a message."),
  alarms: oneOf(["yes", "no"], "yes", "Create CloudWatch alarms."),
  compute: oneOf(["none", "ecs", "lambda"], "none", "What runs the consumer."),
  dispatch: toggle("Let the consumer start ECS tasks, for `tidegate dispatch --launcher ecs`."),
  backfill: toggle("Let the consumer list the bucket, for `tidegate backfill`."),
  outputs: text(
    "URL[,URL]",
    null,
    "Let the consumer write objects below s3://bucket/prefix, for `run --manifests` and objects().",
  ),
  prefix: text("NAME", null, "What names of resources start with (default: the pipeline's name)."),
};

interface PlanFlagValues {
  readonly via?: InfraOptions["via"];
  readonly ledger?: InfraOptions["ledger"];
  readonly listing?: boolean | undefined;
  readonly outbox?: "yes" | "no" | undefined;
  readonly kms?: boolean | undefined;
  readonly "claim-checks"?: string | undefined;
  readonly alarms?: "yes" | "no" | undefined;
  readonly compute?: InfraOptions["compute"];
  readonly dispatch?: boolean | undefined;
  readonly backfill?: boolean | undefined;
  readonly outputs?: string | undefined;
  readonly prefix?: string | undefined;
}

/** The plan of a pipeline file with these flags. */
export async function planOf(file: string, flags: PlanFlagValues) {
  const { planResources } = await import("../../../operate/infra.ts");
  const { via, ledger, listing, kms, compute, dispatch, backfill, prefix } = flags;
  return planResources(file, {
    via,
    ledger,
    listing,
    outbox: flags.outbox === undefined ? undefined : flags.outbox === "yes",
    kms,
    claimChecks: flags["claim-checks"],
    alarms: flags.alarms !== "no",
    compute,
    dispatch,
    backfill,
    outputs: flags.outputs?.split(",").map((url) => url.trim()),
    prefix,
  });
}

export const infra = command({
  name: "infra",
  summary: "Write Terraform for a pipeline: queues, topic, bucket, tables, roles and alarms.",
  argument: { name: "PIPELINE", doc: "Pipeline file." },
  flags: {
    out: text("FOLDER", null, "Folder to write to (required)."),
    ...planFlags,
    overwrite: toggle("Replace files that were edited by hand."),
    json: toggle("Print plan, files and IAM policies as JSON."),
  },
  async run({ argument: file = "", flags, out }) {
    const folder = requiredFlag(flags.out, "out");
    const plan = await planOf(file, flags);
    const { writeTerraform } = await import("../../../operate/infra.ts");
    const result = writeTerraform(plan, folder, flags.overwrite);
    const { edited, refused, written, unchanged, removed } = result;
    if (flags.json) {
      out.line(JSON.stringify({ folder, plan, ...result }));
    } else {
      for (const path of written) out.line(`wrote ${folder}/${path}`);
      for (const path of removed) out.line(`removed ${folder}/${path}, which is no longer used`);
      if (!refused && unchanged.length > 0) out.line(`${unchanged.length} files are unchanged`);
    }
    if (edited.length === 0) return EXIT_OK;
    const names = edited.join(", ");
    if (!refused) {
      out.note(`Replaced files that were edited by hand: ${names}`);
      return EXIT_OK;
    }
    out.note(`Wrote nothing, because files were edited by hand: ${names}`);
    out.note("Add --overwrite to replace them, or choose another --out folder.");
    return EXIT_FAILED;
  },
});
