// Start console: a server for the console of a pipeline that runs elsewhere, on AWS or on
// any other endpoint. `tidegate console` as a function.
//   S1. It listens on loopback by default. On any other address it needs a token.
//   S2. The same checks of Host and Origin as in the embedded cloud keep web pages away.
//   S3. SQS bills every request, so without a page that looks, queues are asked once in a minute.

import { guardHosts } from "../../broker/wire/protocol/host-guard.ts";
import { parseHostNames } from "../../cloud/host-names.ts";
import { endpointOf, hostGuardOf, isLoopback } from "../../cloud/loopback.ts";
import { isConsolePath } from "../../console/api/console-http.ts";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { completenessOf } from "../../operate/completeness.ts";
import { Sources } from "../../operate/sources.ts";
import { createHttpListener } from "../../platform/http/http-listener.ts";
import { systemPorts } from "../../platform/index.ts";
import type { QueueFigures } from "../../ports/console/console-source.ts";
import type { HttpReply } from "../../ports/http/http.ts";
import { type AwsEnvironment, openAwsEnvironment } from "../open/aws-environment.ts";
import { findServer, ledgerUrl } from "../open/find-server.ts";
import { openAwsCloud } from "./aws-cloud.ts";
import type { CloudRoles } from "./embedded-cloud.ts";
import { createMessageMask } from "./message-mask.ts";
import { type ConsoleAccess, openConsoleSource, serveSource } from "./open-console.ts";
import { createRefresher } from "./refresher.ts";

export interface StartConsoleOptions extends ConsoleAccess {
  /** Default: that of the data folder. */
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Null if only the ledger is shown. */
  readonly queue: string | null;
  readonly deadLetterQueue?: string | undefined;
  /** Null if only the names in the ledger are known. */
  readonly pipeline: Pipeline | null;
  readonly file?: string | undefined;
  readonly port: number;
  readonly host: string;
  readonly allowHost?: string | undefined;
  readonly onError: (error: unknown) => void;
}

export interface RunningConsole {
  /** `http://host:port` */
  readonly origin: string;
  /** The address to open, with a one-time code if there is a token. */
  readonly link: string;
  close(): Promise<void>;
}

const LOOKED_MS = 5_000;
/** S3 */
const UNWATCHED_MS = 60_000;

export async function startConsole(options: StartConsoleOptions): Promise<RunningConsole> {
  const { host, port, token = null, onError } = options;
  const exposed = !isLoopback(host);
  if (exposed && token === null) {
    throw new TidegateError(
      "TG_CONFIG_INVALID",
      `--host ${host} is not loopback; a console that others can reach needs --console-token`,
    ); // S1
  }
  const console = serveSource(await sourceOf(options), { ...options, exposed });
  const handler = guardHosts(
    async (request) => (isConsolePath(request.path) ? console.answer(request) : elsewhere()),
    hostGuardOf(host, parseHostNames(options.allowHost)),
  ); // S2
  const listener = createHttpListener(handler, { onError });
  try {
    const chosen = await listener.listen(port, host);
    const origin = endpointOf(host, chosen);
    const close = async () => {
      await listener.close();
      await console.close();
    };
    return { origin, link: `${origin}${console.link()}`, close };
  } catch (error) {
    await listener.close();
    await console.close();
    throw error;
  }
}

function elsewhere(): HttpReply {
  return { status: 303, headers: ["Location", "/_tidegate/console/"], body: "" };
}

async function sourceOf(options: StartConsoleOptions) {
  const { pipeline, queue, deadLetterQueue } = options;
  const late = pipeline?.eventTime.late;
  const server = await findServer(options);
  const environment =
    queue === null ? null : await openAwsEnvironment({ queue, deadLetterQueue, server });
  const roles: CloudRoles = {
    bucket: pipeline?.source.bucket ?? null,
    prefix: pipeline?.source.prefix ?? "",
    queue: environment?.queue.name ?? null,
    deadLetterQueue: environment?.deadLetters?.name ?? null,
    lateQueue: typeof late === "object" ? late.queue : null,
  };
  const cloud = await openAwsCloud(server, roles);
  const sources =
    pipeline === null || environment === null
      ? null
      : new Sources({ ...options, pipeline, queue: environment.queue.name });
  return openConsoleSource({
    ...options,
    embedded: false,
    url: ledgerUrl(options),
    running: null,
    names: { bucket: roles.bucket, topic: null },
    cloud,
    mask: createMessageMask(pipeline, { mask: options.mask, exposed: !isLoopback(options.host) }),
    completeness:
      sources === null
        ? null
        : async () =>
            present((await completenessOf(sources).read())[0], "the completeness of a pipeline"),
    setup: {
      pipeline,
      file: options.file ?? pipeline?.name ?? "",
      queues: roles.queue === null ? [] : [roles.queue],
      server,
    },
    figures: figuresOf(roles, cloud.figures),
    outage: () => null,
    openQueues: environment === null ? null : async () => queuesOf(environment),
    embeddedQueues: async () => null,
    async close() {
      await sources?.close();
      await environment?.close();
      await cloud.close();
    },
  });
}

function queuesOf({ queue, deadLetters }: AwsEnvironment) {
  return { queue, deadLetters };
}

/** S3 */
function figuresOf(
  { queue, deadLetterQueue }: CloudRoles,
  read: (name: string) => Promise<QueueFigures | null>,
) {
  const both = async () => ({
    queue: queue === null ? null : await read(queue),
    deadLetters: deadLetterQueue === null ? null : await read(deadLetterQueue),
  });
  const looked = createRefresher(systemPorts.clock, both, LOOKED_MS);
  const unwatched = createRefresher(systemPorts.clock, both, UNWATCHED_MS);
  const nothing = { queue: null, deadLetters: null };
  return async (isLooked: boolean) => (await (isLooked ? looked : unwatched).value()) ?? nothing;
}
