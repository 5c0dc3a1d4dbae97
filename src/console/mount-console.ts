// Mount console: the console on the port of a running embedded cloud, for `tidegate up` and
// `tidegate dev`.
//   M1. Where requests must be signed, a console without a token answers only to programs on the
//       same machine, as the admin API does.

import { createBrokerQueue } from "../cloud/broker-queue.ts";
import type { CloudInside } from "../cloud/start-cloud.ts";
import {
  type CloudRoles,
  createEmbeddedCloud,
  type HttpRequest,
} from "../operate/cloud/embedded-cloud.ts";
import { createMessageMask } from "../operate/masks/message-mask.ts";
import { systemPorts } from "../platform/index.ts";
import type { DevSite, MountConsole } from "../run/dev/start-dev.ts";
import { boundedLooks } from "../run/open/look-at-queues.ts";
import { type ConsoleHttp, isConsolePath, isUploadPath } from "./api/console-http.ts";
import { refusalReply } from "./api/console-reply.ts";
import { type ConsoleAccess, serveConsole } from "./serve-console.ts";

/** Queues with more messages are counted only: each look decodes what it sees. */
const LOOKED_AT_MAX = 1_000;

const NOT_LOCAL =
  "with keys, only programs on its machine may call this console; start it with --console-token";

export interface MountOptions extends ConsoleAccess {
  readonly endpoint: string;
  readonly region: string | undefined;
  /** The ledger's URL; the file may not exist yet. */
  readonly ledger: string | null;
  /** Absent in a cloud without a pipeline. */
  readonly dev?: DevSite;
  readonly onError: (error: unknown) => void;
}

/** The console of a pipeline in development. */
export function consoleOf(access: ConsoleAccess = {}): MountConsole {
  return (inside, options) => mountConsole(inside, { ...access, ...options });
}

export async function mountConsole(
  inside: CloudInside,
  options: MountOptions,
): Promise<ConsoleHttp> {
  const { engine, http, exposed } = inside;
  const { dev, endpoint, region } = options;
  const pipeline = dev?.pipeline ?? null;
  const roles = rolesOf(dev);
  const { queue, deadLetterQueue, lateQueue } = roles;
  const mask = createMessageMask(pipeline, { mask: options.mask, exposed });
  const cloud = createEmbeddedCloud({
    engine,
    http,
    mask,
    roles,
    now: () => systemPorts.clock.now(),
  });
  const queues = [queue, deadLetterQueue, lateQueue].filter((name) => name !== null);
  const looks = () => boundedLooks(engine, queues, LOOKED_AT_MAX, deadLetterQueue);
  const console = await serveConsole({
    access: options,
    exposed,
    url: options.ledger,
    pipeline,
    running: dev?.running ?? null,
    topic: dev?.names.topic ?? null,
    roles,
    cloud,
    isBilled: false,
    mask,
    looks: dev === undefined ? null : looks, // Without injected faults, and bounded.
    objects: dev?.objects ?? null,
    setup: {
      file: dev?.file ?? pipeline?.name ?? "",
      queues: queue === null ? [] : [queue],
      server: { endpoint, region, cloud: null },
    },
    outage: () => engine.outage,
    operator: { endpoint, region, ...openQueues(inside, roles) },
    onError: options.onError,
  });
  const needsToken = (request: HttpRequest) =>
    (options.token ?? null) === null && !inside.isTrusted(request);
  const answer = async (request: HttpRequest) =>
    needsToken(request) ? refusalReply(403, "NotLocal", NOT_LOCAL) : console.answer(request); // M1
  inside.mount({ isPath: isConsolePath, streams: isUploadPath, answer });
  return console;
}

function rolesOf(dev: DevSite | undefined): CloudRoles {
  const {
    bucket = null,
    queue = null,
    deadLetterQueue = null,
    lateQueue = null,
  } = dev?.names ?? {};
  return { bucket, prefix: dev?.pipeline.source.prefix ?? "", queue, deadLetterQueue, lateQueue };
}

/** The queues of the pipeline, without a socket. */
function openQueues({ engine }: CloudInside, { queue, deadLetterQueue }: CloudRoles) {
  if (queue === null || deadLetterQueue === null) return {};
  return {
    queue: createBrokerQueue(engine, { queue }),
    deadLetterQueue: createBrokerQueue(engine, { queue: deadLetterQueue }),
  };
}
