// Bucket flags: where a command that lists a bucket finds it, and the pipeline's ledger.

import { SETTINGS } from "../../run/config.ts";
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
