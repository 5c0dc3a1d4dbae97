// NodeHttpClient: sends POST requests with node:http and node:https.
//   N1. The whole exchange has one deadline, however slowly bytes arrive.
//   N2. It reads the response body only up to a limit, so that the connection can be reused. A
//       longer body closes the connection, and the status still counts.
//   N3. Link-local addresses are refused by default, also behind a name: cloud machines serve their
//       credentials there. The check is on the address that it connects to.

import { lookup } from "node:dns";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { SNS_HTTP_REPLY_BYTES_MAX } from "../../core/limits.ts";
import type { HttpClient, HttpPost } from "../../ports/http/http-client.ts";

export interface HttpClientOptions {
  /** Default: false (N3). */
  readonly allowLinkLocal?: boolean;
}

export function createHttpClient({ allowLinkLocal = false }: HttpClientOptions = {}): HttpClient {
  return {
    post(post, signal) {
      return new Promise((resolve, reject) => {
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(post.timeoutMs)]); // N1
        const url = new URL(post.url);
        if (!allowLinkLocal && isLinkLocal(bareHost(url))) {
          reject(linkLocalRefused(url.hostname));
          return;
        }
        const request = open(post, url, { signal: deadline, ...(!allowLinkLocal && GUARDED) });
        request.on("error", reject);
        request.on("response", (response) => readStatus(response, resolve, reject));
        request.end(post.body, "utf8");
      });
    },
  };
}

const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LINK_LOCAL.addSubnet("fe80::", 10, "ipv6");
LINK_LOCAL.addAddress("fd00:ec2::254", "ipv6"); // Amazon's metadata service by IPv6.

function isLinkLocal(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  return LINK_LOCAL.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** Looks a name up and refuses it if any of its addresses is link-local (N3). */
const GUARDED: { readonly lookup: LookupFunction } = {
  lookup(hostname, options, callback) {
    lookup(hostname, options, (error, resolved, family) => {
      const addresses = Array.isArray(resolved)
        ? resolved.map(({ address }) => address)
        : [resolved];
      if (error === null && addresses.some(isLinkLocal))
        callback(linkLocalRefused(hostname), "", 4);
      else callback(error, resolved as string, family);
    });
  },
};

function linkLocalRefused(host: string): NodeJS.ErrnoException {
  const message = `${host} is a link-local address; allow such endpoints with --allow-link-local`;
  return Object.assign(new Error(message), { code: "ERR_LINK_LOCAL" });
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function open(
  post: HttpPost,
  url: URL,
  options: { readonly signal: AbortSignal; readonly lookup?: LookupFunction },
): ClientRequest {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = { ...post.headers, "content-length": Buffer.byteLength(post.body, "utf8") };
  return send(url, { method: "POST", headers, auth: credentialsOf(url), ...options });
}

/** AWS accepts credentials in the URL of an endpoint, for basic authentication. */
function credentialsOf({ username, password }: URL): string | undefined {
  if (username === "") return undefined;
  return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
}

function readStatus(
  response: IncomingMessage,
  resolve: (status: number) => void,
  reject: (error: Error) => void,
): void {
  const status = response.statusCode ?? 0;
  let readBytes = 0;
  response.on("data", (chunk: Buffer) => {
    readBytes += chunk.length;
    if (readBytes <= SNS_HTTP_REPLY_BYTES_MAX) return;
    resolve(status); // N2
    response.destroy();
  });
  response.on("end", () => resolve(status));
  response.on("error", reject);
}
