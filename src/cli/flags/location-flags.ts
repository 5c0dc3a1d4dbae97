// Location flags: how commands find a ledger, a pipeline in it, and the servers of its queues.

import type { SourceOptions } from "../../operate/sources.ts";
import { SETTINGS } from "../../run/config.ts";
import { type Flag, text, wholeNumber } from "../command.ts";

const GENERATION_MAX = 1_000_000;

export const ledgerLocation = {
  ledger: { ...text("URL", null, SETTINGS.ledger.doc), env: SETTINGS.ledger.env },
  data: { ...text("FOLDER", SETTINGS.data.fallback, SETTINGS.data.doc), env: SETTINGS.data.env },
};

export function generationFlag(doc: string): Flag<number> {
  return wholeNumber("NUMBER", { min: 0, max: GENERATION_MAX }, null, doc);
}

/** One pipeline of a ledger, or its only one. */
export const pipelineLocation = {
  pipeline: text(
    "FILE|NAME",
    null,
    "Pipeline file or name; required if the ledger has several pipelines.",
  ),
  generation: generationFlag(
    "Only this generation (default: from the pipeline file, 0 of a named pipeline, otherwise all).",
  ),
};

export const serverLocation = {
  endpoint: {
    ...text(
      "URL",
      null,
      "SQS endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else AWS; " +
        "another ledger disables the search for a running cloud).",
    ),
    env: SETTINGS.endpoint.env,
  },
  region: {
    ...text(
      "REGION",
      null,
      "Region of the queues (default: us-east-1 on a local endpoint, else what the AWS SDK finds).",
    ),
    env: SETTINGS.region.env,
  },
};

interface LocationFlags extends SourceOptions {
  readonly "dead-letter-queue"?: string | undefined;
  readonly "tables-database"?: string | undefined;
}

/** The options of an operator that the flags of a command name. */
export function sourceOptions(flags: LocationFlags): SourceOptions {
  const { pipeline, generation, ledger, data, queue, topic, outbox, endpoint, region } = flags;
  const deadLetterQueue = flags["dead-letter-queue"];
  const tablesDatabase = flags["tables-database"];
  const stores = { ledger, data, outbox, tablesDatabase };
  return { pipeline, generation, ...stores, queue, topic, deadLetterQueue, endpoint, region };
}
