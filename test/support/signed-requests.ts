// Signed requests: requests as values, signed by the signer of the AWS SDK and sent to a cloud
// without sockets. The cloud's time only moves when a test advances it; signatures have the
// machine's.

import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { CloudAuth } from "../../src/cloud/access-keys.ts";
import { openCloud, type VirtualOpenCloud } from "../../src/cloud/open-cloud.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import type { HttpRequest } from "../../src/ports/http/http.ts";

export const REGION = "us-east-1";
export const ACCOUNT = "000000000000";
export const HOST = "127.0.0.1:4566";

export const KEY = {
  accessKeyId: "AKIDOWNER",
  secretAccessKey: "a secret of the owner",
  account: ACCOUNT,
} as const;
export const TEMPORARY = {
  accessKeyId: "ASIATEMPORARY",
  secretAccessKey: "a secret of a session",
  sessionToken: "a token/with+signs==",
  account: ACCOUNT,
  principal: `arn:aws:sts::${ACCOUNT}:assumed-role/reader/session`,
  policies: [{ Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] }],
} as const;
export const AUTH: CloudAuth = { keys: [KEY, TEMPORARY] };

/** A request as a value. */
export interface Plain {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Default: the request never leaves the process. */
  readonly remoteAddress?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
}

class Sha256 {
  readonly #hash;
  constructor(secret?: string | Uint8Array | ArrayBuffer) {
    this.#hash =
      secret === undefined
        ? createHash("sha256")
        : createHmac("sha256", typeof secret === "string" ? secret : Buffer.from(secret as never));
  }
  update(data: string | Uint8Array): void {
    this.#hash.update(data);
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
}

type HttpToSign = Parameters<SignatureV4["presign"]>[0];
type Signed = Awaited<ReturnType<SignatureV4["presign"]>>;

export interface SignOptions {
  readonly key?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  readonly region?: string;
  readonly service?: string;
  readonly at: number;
  /** Presigned for this many seconds. */
  readonly presigned?: number;
}

export function plainRequest(method: string, path: string, rest: Partial<Plain> = {}): Plain {
  return { method, path, query: "", body: "", ...rest, headers: { host: HOST, ...rest.headers } };
}

export function sqs(action: string, input: unknown): Plain {
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `AmazonSQS.${action}`,
  };
  return plainRequest("POST", "/", { headers, body: JSON.stringify(input) });
}

export function sns(parameters: Readonly<Record<string, string>>): Plain {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams({ Version: "2010-03-31", ...parameters }).toString();
  return plainRequest("POST", "/", { headers, body });
}

/** Signs as the SDK does: for S3 with one encoding of the path and the digest of the body. */
export async function sign(plain: Plain, options: SignOptions): Promise<Plain> {
  const { key = KEY, region = REGION, service = "sqs", at, presigned } = options;
  const signer = new SignatureV4({
    credentials: key,
    region,
    service,
    sha256: Sha256 as never,
    uriEscapePath: service !== "s3",
    applyChecksum: service === "s3",
  });
  const query: Record<string, string | string[]> = {};
  for (const [name, value] of new URLSearchParams(plain.query)) query[name] = value;
  // As the presigner of S3: the body of a URL that others use is not known.
  const isUrlOfS3 = service === "s3" && presigned !== undefined;
  const headers = {
    ...plain.headers,
    ...(isUrlOfS3 && { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" }),
  };
  const wanted = { ...plain, headers, protocol: "http:", hostname: HOST, query };
  const signingDate = new Date(at);
  const signed: Signed =
    presigned === undefined
      ? await signer.sign(wanted as HttpToSign, { signingDate })
      : await signer.presign(wanted as HttpToSign, { signingDate, expiresIn: presigned });
  const text = Object.entries(signed.query ?? {})
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
  const lower = Object.fromEntries(
    Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { ...plain, query: text, headers: lower };
}

/** A cloud that checks signatures, and a function that sends a request to it. */
export async function openSigned(auth: CloudAuth = AUTH) {
  const cloud: VirtualOpenCloud = await openCloud({ memory: true, clock: "virtual", auth });
  const send = (plain: Plain): Promise<Answer> => sendTo(cloud, plain);
  return { cloud, send, now: () => systemClock.now() as number };
}

export async function sendTo(cloud: VirtualOpenCloud, plain: Plain): Promise<Answer> {
  const body = Buffer.from(plain.body as string);
  const isStream = plain.headers["x-amz-target"] === undefined && !isForm(plain);
  const sent: HttpRequest = {
    method: plain.method,
    path: plain.path,
    query: plain.query,
    headers: { "content-length": String(body.length), ...plain.headers },
    body: isStream ? new Uint8Array() : body,
    bodyTooLarge: false,
    ...(plain.remoteAddress !== undefined && { remoteAddress: plain.remoteAddress }),
    ...(isStream && { bodyStream: chunksOf(body) }),
    signal: new AbortController().signal,
    requestId: "11111111-2222-4333-8444-555555555555",
  };
  const reply = await cloud.http(sent);
  const text =
    typeof reply.body === "string"
      ? reply.body
      : Buffer.concat(await Array.fromAsync(reply.body as AsyncIterable<Uint8Array>)).toString();
  const headers: Record<string, string> = {};
  for (let i = 0; i < reply.headers.length; i += 2) {
    headers[reply.headers[i]!.toLowerCase()] = reply.headers[i + 1]!;
  }
  return { status: reply.status, text, code: codeOf(text, headers), headers };
}

function isForm({ headers }: Plain): boolean {
  return headers["content-type"] === "application/x-www-form-urlencoded";
}

async function* chunksOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield new Uint8Array(body);
}

function codeOf(text: string, headers: Readonly<Record<string, string>>): string {
  const header = headers["x-amzn-query-error"]?.split(";")[0];
  return header ?? /<Code>([^<]*)</.exec(text)?.[1] ?? "";
}
