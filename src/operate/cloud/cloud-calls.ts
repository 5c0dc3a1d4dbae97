// Cloud calls: requests of the console to the embedded cloud in this process, in the protocols of
// AWS, without a socket.

import { TidegateError } from "../../core/errors.ts";
import { systemRandom } from "../../platform/system-random.ts";
import type { HttpHandler, HttpReply, HttpRequest } from "../../ports/http/http.ts";

const NO_BYTES = new Uint8Array();

/** Runs an action of SQS; throws TG_QUEUE_REFUSED with its message if it is refused. */
export async function callAction(
  http: HttpHandler,
  action: string,
  input: object,
): Promise<Readonly<Record<string, unknown>>> {
  const reply = await http({
    method: "POST",
    path: "/",
    query: "",
    headers: {
      "x-amz-target": `AmazonSQS.${action}`,
      "content-type": "application/x-amz-json-1.0",
    },
    body: new TextEncoder().encode(JSON.stringify(input)),
    bodyTooLarge: false,
    signal: new AbortController().signal,
    requestId: systemRandom.uuid(),
  });
  const text = await textOf(reply);
  const value = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  if (reply.status === 200) return value;
  const message = String(value.message ?? value.__type ?? `status ${reply.status}`);
  throw new TidegateError("TG_QUEUE_REFUSED", `${action} was refused: ${message}`);
}

/** Puts the body of a request as an object; answers with JSON. */
export async function uploadThrough(
  http: HttpHandler,
  { bucket, key }: { readonly bucket: string; readonly key: string },
  request: HttpRequest,
): Promise<HttpReply> {
  const { "content-length": length, "content-type": type } = request.headers;
  const path = `/${encodeURIComponent(bucket)}/${key.split("/").map(encodeURIComponent).join("/")}`;
  const reply = await http({
    ...request,
    method: "PUT",
    path,
    query: "",
    headers: {
      ...(request.headers.host !== undefined && { host: request.headers.host }),
      ...(length !== undefined && { "content-length": length }),
      ...(type !== undefined && { "content-type": type }),
    },
  });
  const text = await textOf(reply);
  if (reply.status !== 200) {
    const message = /<Message>([^<]*)</.exec(text)?.[1] ?? "the upload was refused";
    return jsonReply(reply.status, { error: { code: "UploadRefused", message } });
  }
  const etagAt = reply.headers.findIndex((name, at) => at % 2 === 0 && /^etag$/i.test(name));
  const etag = etagAt < 0 ? "" : (reply.headers[etagAt + 1] ?? "").replaceAll('"', "");
  return jsonReply(201, { bucket, key, etag, size: Number(length ?? request.body.length) });
}

function jsonReply(status: number, value: object): HttpReply {
  const headers = ["Content-Type", "application/json", "X-Content-Type-Options", "nosniff"];
  return { status, headers, body: `${JSON.stringify(value)}\n` };
}

async function textOf({ body }: HttpReply): Promise<string> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  const chunks: Uint8Array[] = [NO_BYTES];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
