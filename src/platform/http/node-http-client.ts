// NodeHttpClient: sends POST requests with node:http and node:https.
//   N1. The whole exchange has one deadline, however slowly bytes arrive.
//   N2. It reads the response body only up to a limit, so that the connection can be reused. A
//       longer body closes the connection, and the status still counts.

import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { SNS_HTTP_REPLY_BYTES_MAX } from "../../core/limits.ts";
import type { HttpClient, HttpPost } from "../../ports/http-client.ts";

export function createHttpClient(): HttpClient {
  return {
    post(post, signal) {
      return new Promise((resolve, reject) => {
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(post.timeoutMs)]); // N1
        const request = open(post, deadline);
        request.on("error", reject);
        request.on("response", (response) => readStatus(response, resolve, reject));
        request.end(post.body, "utf8");
      });
    },
  };
}

function open(post: HttpPost, signal: AbortSignal): ClientRequest {
  const url = new URL(post.url);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = { ...post.headers, "content-length": Buffer.byteLength(post.body, "utf8") };
  return send(url, { method: "POST", headers, signal, auth: credentialsOf(url) });
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
