// Start console: a server for the console of a pipeline that runs elsewhere, on AWS or on
// any other endpoint. `tidegate console` as a function.
//   S1. It listens on loopback by default. On any other address it needs a token.
//   S2. The same checks of Host and Origin as in the embedded cloud keep web pages away.

import { guardHosts } from "../broker/wire/protocol/host-guard.ts";
import { parseHostNames } from "../cloud/host-names.ts";
import { endpointOf, hostGuardOf, isLoopback } from "../cloud/loopback.ts";
import { TidegateError } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { openAwsCloud } from "../operate/cloud/aws-cloud.ts";
import type { CloudRoles, HttpReply } from "../operate/cloud/embedded-cloud.ts";
import { createMessageMask } from "../operate/masks/message-mask.ts";
import { createHttpListener } from "../platform/http/http-listener.ts";
import { openAwsEnvironment } from "../run/open/aws-environment.ts";
import { findServer, ledgerUrl } from "../run/open/find-server.ts";
import { lateQueueOf } from "../run/open/late-queue.ts";
import { type ConsoleHttp, isConsolePath } from "./api/console-http.ts";
import { type ConsoleAccess, serveConsole } from "./serve-console.ts";

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

export async function startConsole(options: StartConsoleOptions): Promise<RunningConsole> {
  const { host, port, token = null, onError } = options;
  if (!isLoopback(host) && token === null) {
    throw new TidegateError(
      "TG_CONFIG_INVALID",
      `--host ${host} is not loopback; a console that others can reach needs --console-token`,
    ); // S1
  }
  const console = await openConsole(options);
  const handler = guardHosts(
    async (request) => (isConsolePath(request.path) ? console.answer(request) : elsewhere()),
    hostGuardOf(host, parseHostNames(options.allowHost)),
  ); // S2
  const listener = createHttpListener(handler, { onError });
  const close = async () => {
    await listener.close();
    await console.close();
  };
  try {
    const origin = endpointOf(host, await listener.listen(port, host));
    return { origin, link: `${origin}${console.link()}`, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function elsewhere(): HttpReply {
  return { status: 303, headers: ["Location", "/_tidegate/console/"], body: "" };
}

async function openConsole(options: StartConsoleOptions): Promise<ConsoleHttp> {
  const { pipeline, queue, deadLetterQueue, endpoint, region, data } = options;
  const lateQueue = pipeline === null ? undefined : lateQueueOf(pipeline);
  const server = await findServer(options);
  const environment =
    queue === null ? null : await openAwsEnvironment({ queue, deadLetterQueue, lateQueue, server });
  const roles: CloudRoles = {
    bucket: pipeline?.source.bucket ?? null,
    prefix: pipeline?.source.prefix ?? "",
    queue: environment?.queue.name ?? null,
    deadLetterQueue: environment?.deadLetters?.name ?? null,
    lateQueue: lateQueue ?? null,
  };
  const cloud = await openAwsCloud(server, roles);
  const release = async () => {
    await environment?.close();
    await cloud.close();
  };
  const exposed = !isLoopback(options.host);
  const queues = environment && {
    queue: environment.queue,
    deadLetterQueue: environment.deadLetters,
  };
  const console = await serveConsole({
    access: options,
    exposed,
    url: ledgerUrl(options),
    pipeline,
    running: null,
    topic: null,
    roles,
    cloud,
    isBilled: true,
    mask: createMessageMask(pipeline, { mask: options.mask, exposed }),
    looks: environment?.looks ?? null,
    objects: environment?.objects ?? null,
    setup: {
      file: options.file ?? pipeline?.name ?? "",
      queues: roles.queue === null ? [] : [roles.queue],
      server,
    },
    outage: () => null,
    operator: { endpoint, region, data, ...queues },
    onError: options.onError,
  }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const close = async () => {
    await console.close();
    await release();
  };
  return { ...console, close };
}
