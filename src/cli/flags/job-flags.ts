// Job flags: where outbox, ledger and queue of jobs are; the commands on jobs share them.

import { SETTINGS } from "../../run/config.ts";
import { text } from "../command.ts";
import { generationFlag, ledgerLocation } from "./location-flags.ts";

export const storeFlags = {
  outbox: text(
    "URL",
    null,
    "Outbox: sqlite:path, postgres://… or dynamodb://table (default: the ledger's store).",
  ),
  ...ledgerLocation,
};

export const targetFlags = {
  queue: text(
    "QUEUE",
    null,
    "Name, URL or ARN of the queue that jobs are sent to (default: from the pipeline file).",
  ),
  topic: text("ARN", null, "ARN of the topic, instead of a queue."),
  endpoint: {
    ...text(
      "URL",
      null,
      "SQS and SNS endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else AWS; " +
        "another ledger or outbox disables the search for a running cloud).",
    ),
    env: SETTINGS.endpoint.env,
  },
  region: {
    ...text(
      "REGION",
      null,
      "Region of the queue or topic (default: us-east-1 on a local endpoint, else what the AWS SDK finds).",
    ),
    env: SETTINGS.region.env,
  },
};

export const scopeFlags = {
  pipeline: text(
    "FILE|NAME",
    null,
    "File or name of the pipeline that processes the jobs (required).",
  ),
  generation: generationFlag("Generation of its records (default: from the pipeline file, or 0)."),
};
