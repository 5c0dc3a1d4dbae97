// The embedded cloud with its listener. `tidegate up` and the library both start it, so that tests
// run the production code.
//   G1. If starting fails, everything that was started is stopped: no lock and no port stays taken.
//   G2. close() answers requests in flight, then closes the store. It is idempotent.
//   G3. A setup is applied before the first response, so every client finds all of its resources.
//       Links in notifications need the port, so requests wait at the gate until then.

import type { Broker } from "../broker/engine/broker.ts";
import { streamBytesOf } from "../broker/http.ts";
import { guardHosts } from "../broker/wire/protocol/host-guard.ts";
import { isLocal } from "../broker/wire/protocol/local-request.ts";
import { createHttpListener } from "../platform/http/http-listener.ts";
import { ReplyBuffer } from "../platform/http/reply-buffer.ts";
import { printError } from "../platform/print-error.ts";
import type { HttpHandler, HttpHead, HttpReply, HttpRequest } from "../ports/http/http.ts";
import type { CloudOptions } from "./cloud-options.ts";
import { endpointOf, hostGuardOf, isLoopback } from "./loopback.ts";
import { type OpenCloud, openUnpreparedCloud } from "./open-cloud.ts";
import type { PublicCloud } from "./public-cloud.ts";
import { createGate } from "./request-gate.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** What a mounted part holds of a body that it streams. */
const MOUNTED_STREAM_BYTES = 1_048_576;

/** A started cloud as code in this package sees it; users get a PublicCloud. */
export interface Cloud extends PublicCloud {
  readonly broker: Broker;
  readonly inside: CloudInside;
}

/** What a console on the same port needs. */
export interface CloudInside {
  /** The broker without injected faults. */
  readonly engine: Broker;
  /** The AWS protocols, as a function; signatures are not checked. */
  readonly http: HttpHandler;
  /** Whether other machines can reach the server. */
  readonly exposed: boolean;
  /** Whether a request needs no proof: without keys any, with keys one of this machine. */
  isTrusted(request: HttpRequest): boolean;
  /** Answers the paths of `mounted` from now on, behind the same checks of Host and Origin. */
  mount(mounted: MountedHttp): void;
}

/** A further part of the server, under its own paths. */
export interface MountedHttp {
  isPath(path: string): boolean;
  /** Whether the body of a request is read as a stream. */
  streams(method: string, path: string): boolean;
  answer(request: HttpRequest): Promise<HttpReply>;
}

export interface VirtualCloud extends Cloud {
  readonly clock: VirtualClock;
}

/** Starts an embedded S3, SNS and SQS in this process and resolves once it answers requests. */
export function startCloud(
  options: CloudOptions & { readonly clock: "virtual" },
): Promise<VirtualCloud>;
export function startCloud(options?: CloudOptions): Promise<Cloud>;
export async function startCloud(options: CloudOptions = {}): Promise<Cloud> {
  const { host = "127.0.0.1", port = 0, allowedHosts = [], baseHost } = options;
  const replies = new ReplyBuffer();
  const opened = await openUnpreparedCloud(options, replies);
  const mounts: MountedHttp[] = [];
  const http: HttpHandler = (request) => {
    for (const mounted of mounts) {
      if (mounted.isPath(request.path)) return mounted.answer(request);
    }
    return opened.http(request);
  };
  const names = baseHost === undefined ? allowedHosts : [baseHost, ...allowedHosts];
  const { allowsOrigin } = opened;
  const gate = createGate(guardHosts(http, { ...hostGuardOf(host, names), allowsOrigin }));
  const brokerBytes = streamBytesOf(opened.broker);
  const streamBytes = (head: HttpHead) => {
    for (const { streams } of mounts) {
      if (streams(head.method, head.path)) return MOUNTED_STREAM_BYTES;
    }
    return brokerBytes(head);
  };
  const listener = createHttpListener(gate.handler, {
    onError: options.onError ?? printError,
    replies,
    streamBytesOf: streamBytes,
    answersText: (head) => streamBytes(head) === null, // Everything except S3 does.
  });
  try {
    const chosenPort = await listener.listen(port, host);
    const endpoint = endpointOf(host, chosenPort);
    await opened.prepare(endpoint); // G3
    gate.open();
    const { engine } = opened;
    const mount = (mounted: MountedHttp) => void mounts.push(mounted);
    const isTrusted = (request: HttpRequest) => options.auth === undefined || isLocal(request);
    const inside = {
      engine,
      http: opened.unsignedHttp,
      exposed: !isLoopback(host),
      isTrusted,
      mount,
    };
    return assemble(opened, inside, { endpoint, port: chosenPort }, listener.close);
  } catch (error) {
    await listener.close();
    await opened.close(); // G1
    throw error;
  }
}

function assemble(
  opened: OpenCloud,
  inside: CloudInside,
  { endpoint, port }: { readonly endpoint: string; readonly port: number },
  closeListener: () => Promise<void>,
): Cloud {
  const { clock, broker, objects } = opened;
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= closeListener().then(() => opened.close()); // G2
    return closed;
  };
  const cloud = { endpoint, port, clock, broker, objects, inside };
  return { ...cloud, close, [Symbol.asyncDispose]: close };
}
