// Start dev: the embedded cloud and a pipeline on it, in one process; what `tidegate dev` does.
//   V1. Queues and objects are reached without HTTP; the endpoint is for everybody else.
//   V2. The ledger lies beside the cloud in the data folder, as a file of its own that
//       `tidegate ledger` and `tidegate why` may open meanwhile.
//   V3. What is there already is not changed, but for how long its queue hides. A pipeline file
//       that wants it otherwise is refused.
//   V4. A cloud that was started for a pipeline that cannot start is closed again.

import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { type Cloud, type CloudOptions, startCloud } from "../../cloud/start-cloud.ts";
import { TidegateError } from "../../core/errors.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import { type FilledSettings, fillSettings, type RunSettings } from "../config.ts";
import {
  type Environment,
  type RunningPipeline,
  runPipeline,
  type StartOptions,
} from "../run-pipeline.ts";
import { ledgerUrl, withGeneration } from "../start-pipeline.ts";
import { type DevNames, devNames, devSetup } from "./dev-setup.ts";
import { putFile, putLocalObject } from "./put-object.ts";

export interface DevOptions extends StartOptions {
  /** Faults of the embedded cloud to begin with. */
  readonly faults?: CloudOptions["faults"];
}

export interface RunningDev extends RunningPipeline {
  /** Where AWS clients find the embedded cloud. */
  readonly endpoint: string;
  readonly names: DevNames;
  /** Puts an object into the pipeline's bucket. */
  put(key: string, body: string | Uint8Array): Promise<void>;
  /** Puts a file into the pipeline's bucket. */
  putFile(key: string, path: string): Promise<void>;
}

/** Starts an embedded cloud, sets it up for a pipeline, and runs the pipeline on it. */
export async function startDev(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: DevOptions = {},
): Promise<RunningDev> {
  const filled = fillSettings("dev", settings);
  const { data, port, region } = filled;
  const running = withGeneration(pipeline, filled);
  const names = devNames(running);
  const setup = devSetup(running);
  const { faults, onError } = options;
  const cloud = await startCloud({
    ...{ data, port, setup },
    ...(region !== undefined && { region }),
    ...(faults !== undefined && { faults }),
    ...(onError !== undefined && { onError }),
  }).catch((error: unknown) => {
    throw explained(error, data);
  });
  const site = siteOn(cloud, running, names);
  const ledger = await prepare(cloud, running, filled).catch(async (error: unknown) => {
    await site.close(); // V4
    throw error;
  });
  const started = await runPipeline(running, site, { ...filled, ledger }, options);
  const { endpoint } = cloud;
  const target = { endpoint, bucket: names.bucket ?? "" };
  return {
    ...started,
    endpoint,
    names,
    put: (key, body) => putLocalObject(target, key, body),
    putFile: (key, path) => putFile(target, key, path),
  };
}

/** A site on the embedded cloud, which is closed with it (V1). */
function siteOn(cloud: Cloud, pipeline: Pipeline, names: DevNames): Environment {
  const { broker } = cloud;
  const queue = createBrokerQueue(broker, { queue: names.queue });
  const { name, generation, visibilityMs } = pipeline;
  const scope = { pipeline: name, generation };
  return {
    queue,
    deadLetters: createBrokerQueue(broker, { queue: names.deadLetterQueue }),
    objects: cloud.objects,
    openRenewer(ledger, _url, telemetry) {
      // Whatever keeps this event loop busy keeps the embedded cloud waiting as well, so that a
      // thread could not renew anything meanwhile.
      const ports = { queue, ledger, scope, clock: systemPorts.clock, telemetry };
      return createLeaseRenewer(ports, { visibilityMs, leaseMs: visibilityMs });
    },
    close: () => cloud.close(),
  };
}

/** Makes the queue hide for as long as the pipeline says by now, and a place for the ledger. */
async function prepare(cloud: Cloud, pipeline: Pipeline, filled: FilledSettings): Promise<string> {
  const { queue } = devNames(pipeline);
  const attributes = { VisibilityTimeout: String(Math.ceil(pipeline.visibilityMs / 1_000)) };
  await cloud.broker.submit("setQueueAttributes", { queue, attributes });
  return ledgerUrl({ ...filled, ledger: undefined }); // V2
}

function explained(error: unknown, data: string): unknown {
  if (!(error instanceof TidegateError) || error.code !== "TG_SETUP_CONFLICT") return error;
  const message =
    `${error.message}\nThe pipeline file has changed since ${data} was made; ` +
    "start with another --data folder, or delete that one.";
  return new TidegateError("TG_SETUP_CONFLICT", message, { cause: error }); // V3
}
