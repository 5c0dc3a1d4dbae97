// Bucket flags: where a command that lists a bucket finds it, and the pipeline's ledger.

import { type RunSettings, SETTINGS } from "../../run/config.ts";
import { text } from "../command.ts";
import { generationFlag, ledgerLocation } from "./location-flags.ts";

export const bucketFlags = {
  bucket: text("BUCKET", null, "Bucket to list (default: the bucket of the pipeline)."),
  prefix: text("TEXT", null, "Only keys that start with this text (default: the pipeline's)."),
  generation: generationFlag("Ledger generation (default: from the pipeline file)."),
  ...ledgerLocation,
  endpoint: {
    ...text(
      "URL",
      null,
      "SQS and S3 endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else " +
        "AWS; another ledger disables the search for a running cloud).",
    ),
    env: SETTINGS.endpoint.env,
  },
  region: {
    ...text("REGION", null, "Region (default: us-east-1 on a local endpoint, else the SDK's)."),
    env: SETTINGS.region.env,
  },
  queue: { ...text("QUEUE", null, SETTINGS.queue.doc), env: SETTINGS.queue.env },
  "dead-letter-queue": {
    ...text("QUEUE", null, SETTINGS.deadLetterQueue.doc),
    env: SETTINGS.deadLetterQueue.env,
  },
  "tables-database": {
    ...text("URL|PATH", null, SETTINGS.tablesDatabase.doc),
    env: SETTINGS.tablesDatabase.env,
  },
};

interface BucketFlagValues {
  readonly generation?: number | undefined;
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly queue?: string | undefined;
  readonly "dead-letter-queue"?: string | undefined;
  readonly "tables-database"?: string | undefined;
}

/** The settings that these flags give. */
export function bucketSettings(flags: BucketFlagValues): RunSettings {
  const { endpoint, region, data, ledger, generation, queue } = flags;
  const given: RunSettings = {
    endpoint,
    region,
    data,
    ledger,
    generation,
    queue,
    deadLetterQueue: flags["dead-letter-queue"],
    tablesDatabase: flags["tables-database"],
    logLevel: "warn",
  };
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as RunSettings;
}
