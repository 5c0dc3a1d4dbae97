// Start dev: the embedded cloud and a pipeline on it, in one process. `tidegate dev` as a function.
//   V1. The pipeline reaches queues and objects without HTTP; the endpoint is for other clients.
//   V2. The ledger is its own file in the data folder. `tidegate ledger` and `tidegate why` may
//       open it at the same time.
//   V3. Existing resources stay unchanged, except for the queue's visibility timeout. A pipeline
//       file that requires other resources is rejected.
//   V4. If the pipeline cannot start, the cloud is closed again.

import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import type { CloudOptions } from "../../cloud/cloud-options.ts";
import { parseHostNames } from "../../cloud/host-names.ts";
import { type Cloud, type CloudInside, startCloud } from "../../cloud/start-cloud.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { printError } from "../../platform/print-error.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { RunSettings } from "../config.ts";
import { openRenewer } from "../leases/open-renewer.ts";
import { writeEndpointFile } from "../open/endpoint-file.ts";
import type { Environment } from "../open/environment.ts";
import { boundedLooks, brokerLooks } from "../open/look-at-queues.ts";
import { ensureLedgerFolder, type PreparedRun, prepareRun } from "../prepare-run.ts";
import { type RunningPipeline, runPipeline, type StartOptions } from "../run-pipeline.ts";
import { type DevNames, devNames, devSetup } from "./dev-setup.ts";
import { putFile, putLocalObject } from "./put-object.ts";

/** What a console shows of a pipeline in development. */
export interface DevSite {
  readonly pipeline: Pipeline;
  readonly file: string | undefined;
  readonly names: DevNames;
  readonly running: RunningPipeline;
  readonly objects: ObjectSource;
}

/** Serves a console on the port of the cloud. */
export type MountConsole = (
  inside: CloudInside,
  options: {
    readonly endpoint: string;
    readonly region: string | undefined;
    readonly ledger: string;
    readonly dev: DevSite;
    readonly onError: (error: unknown) => void;
  },
) => Promise<MountedConsole>;

interface MountedConsole {
  /** The path to open, with a one-time code if there is a token. */
  link(): string;
  close(): Promise<void>;
}

/** Options of `startDev`. */
export interface DevOptions extends StartOptions {
  /** Faults that the embedded cloud starts with. */
  readonly faults?: CloudOptions["faults"];
  /** Its console, which knows this part, and not the other way round. Default: none. */
  readonly console?: MountConsole;
}

/** A started pipeline and its embedded cloud. */
export interface RunningDev extends RunningPipeline {
  /** The endpoint of the embedded cloud, for AWS clients. */
  readonly endpoint: string;
  /** The address of the web console; empty without one. */
  readonly console: string;
  readonly names: DevNames;
  /** Puts an object into the pipeline's bucket. */
  put(key: string, body: string | Uint8Array): Promise<void>;
  /** Puts a file into the pipeline's bucket. */
  putFile(key: string, path: string): Promise<void>;
}

/** Starts an embedded cloud, creates what the pipeline needs in it, and runs the pipeline. */
export async function startDev(
  pipeline: Pipeline,
  settings: RunSettings = {},
  options: DevOptions = {},
): Promise<RunningDev> {
  const run = prepareRun("dev", pipeline, { ...settings, ledger: undefined }); // V2
  const names = devNames(run.pipeline);
  const cloud = await openCloud(run, options);
  const removeFile = writeEndpointFile(run.settings.data, cloud.endpoint);
  const mounted: { console: MountedConsole | undefined } = { console: undefined };
  const environment = environmentOn(cloud, names, async () => {
    removeFile();
    await mounted.console?.close();
  });
  await prepare(cloud, run).catch(async (error: unknown) => {
    await environment.close(); // V4
    throw error;
  });
  const open = openRenewer.bind(null, environment);
  const { endpoint } = cloud;
  const { ledger, region } = run.settings;
  const server = { endpoint, region, cloud: null };
  const host = { environment, openRenewer: open, server };
  const running = await runPipeline(run, host, options);
  const { objects } = cloud;
  const dev = { pipeline: run.pipeline, file: options.file, names, running, objects };
  const { onError = printError } = options;
  const served = { endpoint, region, ledger, dev, onError };
  mounted.console = await options.console?.(cloud.inside, served).catch(async (error: unknown) => {
    await running.stop(); // V4
    throw error;
  });
  const target = { endpoint, bucket: names.bucket ?? "" };
  return {
    ...running,
    endpoint,
    console: mounted.console === undefined ? "" : `${endpoint}${mounted.console.link()}`,
    names,
    put: (key, body) => putLocalObject(target, key, body),
    putFile: (key, path) => putFile(target, key, path),
  };
}

async function openCloud(
  { pipeline, settings }: PreparedRun,
  { faults, onError }: DevOptions,
): Promise<Cloud> {
  const { data, port, region, allowHost, baseHost, allowLinkLocal } = settings;
  return startCloud({
    data,
    port,
    allowedHosts: parseHostNames(allowHost),
    allowLinkLocalEndpoints: allowLinkLocal === true,
    acceptClock: settings.acceptClock === true,
    setup: devSetup(pipeline),
    ...(region !== undefined && { region }),
    ...(baseHost !== undefined && { baseHost }),
    ...(faults !== undefined && { faults }),
    ...(onError !== undefined && { onError }),
  }).catch((error: unknown) => {
    throw explained(error, data);
  });
}

/** An environment on the embedded cloud; closing it closes the cloud (V1). */
function environmentOn(cloud: Cloud, names: DevNames, onClose: () => Promise<void>): Environment {
  const { broker, objects } = cloud;
  const { queue, deadLetterQueue, lateQueue } = names;
  const all = [queue, deadLetterQueue, lateQueue].filter((name) => name !== null);
  return {
    lateQueue: lateQueue === null ? null : createBrokerQueue(broker, { queue: lateQueue }),
    looks: async (max) =>
      max === undefined
        ? brokerLooks(broker, all)
        : boundedLooks(broker, all, max, deadLetterQueue),
    queue: createBrokerQueue(broker, { queue: names.queue }),
    deadLetters: createBrokerQueue(broker, { queue: names.deadLetterQueue }),
    objects,
    async close() {
      await onClose();
      await cloud.close();
    },
  };
}

/** Sets the queue's visibility timeout (V3), and creates the folder of the ledger. */
async function prepare(cloud: Cloud, { pipeline, settings }: PreparedRun): Promise<void> {
  const { queue } = devNames(pipeline);
  const attributes = { VisibilityTimeout: String(Math.ceil(pipeline.visibilityMs / 1_000)) };
  await cloud.broker.submit("setQueueAttributes", { queue, attributes });
  ensureLedgerFolder(settings.ledger);
}

function explained(error: unknown, data: string): unknown {
  if (!(error instanceof TidegateError) || error.code !== "TG_SETUP_CONFLICT") return error;
  const message =
    `${error.message}\nThe pipeline file has changed since ${data} was created; ` +
    "use another data folder, or delete this one.";
  return new TidegateError("TG_SETUP_CONFLICT", message, { cause: error }); // V3
}
