// Find server: where queues, topics, objects and the ledger are. Every command, function, console
// and adapter asks here, and nothing else decides it.
//   F1. The first source that names an endpoint wins: the option (in a command its flag, or the
//       flag's variable TIDEGATE_ENDPOINT), then AWS_ENDPOINT_URL_<SERVICE>, then AWS_ENDPOINT_URL,
//       then the embedded cloud that runs on the data folder, then AWS.
//   F2. Each service is decided by itself: queues and objects may be on different servers.
//   F3. The cloud of a data folder has SQS, SNS and S3. It counts only together with the ledger of
//       that folder: the messages of another ledger or outbox are in other queues. An open ledger
//       or outbox is of the folder that the caller names with it. A Lambda function, the
//       tasks of ECS and the comparison with an account have no data folder.
//   F4. A cloud that runs and does not answer, or does not say where, is an error. Its requests
//       never go to AWS instead.
//   F5. The ledger is the one that the option names, else ledger.db in the data folder.
//   F6. Without another region, a server on this machine has us-east-1, whatever the credentials.

import { join, resolve } from "node:path";
import { TidegateError } from "../../core/errors.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import { SETTINGS } from "../config.ts";
import { type FolderCloud, findFolderCloud } from "./endpoint-file.ts";
import { isLoopbackUrl, localCredentials } from "./store-url.ts";

export type AwsService =
  | "SQS"
  | "SNS"
  | "S3"
  | "DYNAMODB"
  | "ECS"
  | "IAM"
  | "KMS"
  | "CLOUDWATCH"
  | "LAMBDA";

type Variables = Readonly<Record<string, string | undefined>>;

/** What the options of a caller say. */
export interface ServerLocation {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Folder of a cloud that may be running. Default: ".tidegate"; null without a folder. */
  readonly data?: string | null | undefined;
  /** An open one, or its URL. Default: that of the data folder. */
  readonly ledger?: string | Ledger | undefined;
  /** An open one, or its URL. Default: in the ledger's store. */
  readonly outbox?: string | Outbox | undefined;
}

interface LedgerLocation {
  readonly ledger?: string | undefined;
  readonly data?: string | null | undefined;
}

/** The sources that remain once the options and the data folder have been looked at. */
export interface Server {
  /** The option. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** The cloud that runs on the data folder; null if none runs, or if it does not count (F3). */
  readonly cloud: FolderCloud | null;
}

/** Where a service is, and which source says so. */
export interface ChosenEndpoint {
  /** Undefined for AWS, or if only a configuration file of the SDK names it. */
  readonly endpoint: string | undefined;
  readonly source: "option" | "variable" | "cloud" | "default";
  /** As a clause for messages. */
  readonly why: string;
}

const CLOUD_SERVICES: ReadonlySet<AwsService> = new Set(["SQS", "SNS", "S3"]);
const LOCAL_REGION = "us-east-1";

/** Looks for a cloud on the data folder, if one could matter. */
export async function findServer(
  location: ServerLocation,
  variables: Variables = process.env,
): Promise<Server> {
  const { endpoint, region } = location;
  const data = location.data === null ? null : dataFolder(location.data);
  const isDecided = [...CLOUD_SERVICES].every(
    (service) => endpoint !== undefined || variableOf(service, variables) !== null,
  );
  const isAsked = data !== null && !isDecided && ownsStores(location, data);
  return { endpoint, region, cloud: isAsked ? await findFolderCloud(data) : null };
}

/**
 * Where a service is (F1, F2). Throws TG_CONFIG_INVALID for anything that is not a URL, and
 * TG_QUEUE_UNAVAILABLE for a cloud that runs and does not answer (F4).
 */
export function chooseEndpoint(
  service: AwsService,
  { endpoint: option, cloud }: Server,
  variables: Variables = process.env,
): ChosenEndpoint {
  if (option !== undefined) {
    return { endpoint: checked(option), source: "option", why: "by the option endpoint" };
  }
  const variable = variableOf(service, variables);
  if (variable !== null) {
    const why = `by ${variable.name}`;
    return { endpoint: checked(variable.value), source: "variable", why };
  }
  if (cloud === null || !CLOUD_SERVICES.has(service)) {
    return { endpoint: undefined, source: "default", why: "no other endpoint is set" };
  }
  if (cloud.failure !== null)
    throw new TidegateError("TG_QUEUE_UNAVAILABLE", silentText(cloud, cloud.failure));
  const why = `the cloud of ${cloud.data}`;
  return { endpoint: cloud.endpoint, source: "cloud", why };
}

/** The options of an AWS client: endpoint, region, and placeholder credentials if needed. */
export function clientOptions(service: AwsService, server: Server) {
  const { endpoint } = chooseEndpoint(service, server);
  const region = server.region || process.env.AWS_REGION || localRegion(endpoint); // F6
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...localCredentials(endpoint),
  };
}

/** Where a service is, as a clause: `at http://127.0.0.1:4566, the cloud of .tidegate`. */
export function describeServer(service: AwsService, server: Server): string {
  const { endpoint, why } = chooseEndpoint(service, server);
  return endpoint === undefined ? `on AWS, as ${why}` : `at ${endpoint}, ${why}`;
}

/** The URL of the ledger (F5). */
export function ledgerUrl({ ledger, data }: LedgerLocation): string {
  return ledger ?? `sqlite:${join(dataFolder(data), "ledger.db")}`;
}

function dataFolder(data: string | null | undefined): string {
  return data ?? SETTINGS.data.fallback;
}

/** Whether ledger and outbox are the data folder's own (F3). */
function ownsStores({ ledger, outbox, data: named }: ServerLocation, data: string): boolean {
  const own = pathOf(ledgerUrl({ data }));
  return [ledger, outbox].every((store) => {
    if (typeof store === "object") return named !== undefined;
    return store === undefined || pathOf(store) === own;
  });
}

/** Two URLs of one SQLite file are equal. */
function pathOf(url: string): string {
  return url.startsWith("sqlite:") ? resolve(url.slice("sqlite:".length)) : url;
}

/** The SDK takes an empty variable for a missing one. */
function variableOf(service: AwsService, variables: Variables) {
  if (variables.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === "true") return null;
  for (const name of [`AWS_ENDPOINT_URL_${service}`, "AWS_ENDPOINT_URL"]) {
    const value = variables[name] ?? "";
    if (value !== "") return { name, value };
  }
  return null;
}

/** The SDK would call any other scheme as http. */
function checked(endpoint: string): string {
  const { protocol = "" } = URL.parse(endpoint) ?? {};
  if (protocol === "http:" || protocol === "https:") return endpoint;
  const message = `"${endpoint}" is not an endpoint; use a URL such as http://127.0.0.1:4566`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function localRegion(endpoint: string | undefined): string | undefined {
  return isLoopbackUrl(endpoint) ? LOCAL_REGION : undefined;
}

function silentText({ data, endpoint }: FolderCloud, failure: string): string {
  const state =
    endpoint === null
      ? `the data folder ${data} is in use by another process, and ${failure}`
      : `the cloud of ${data} runs, but ${failure}`;
  return `${state}; wait for it or stop it, or name another server with the option endpoint`;
}
