// SQS requests as bytes, for the raw connection: built once, then patched in place.
//   Q1. A slot is a run of ten digits inside a request. Writing a number into it changes no length,
//       so headers stay valid and nothing is built while the clock runs.

import type { RawConnection } from "./raw-connection.ts";

/** Digits of a slot: enough for ten billion messages. */
export const SLOT_DIGITS = 10;
const SLOT = "@".repeat(SLOT_DIGITS);
const ZERO = 48;

/** A JSON 1.0 request of SQS, as any SDK sends it, without a signature. */
export function sqsRequest(port: number, action: string, input: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(input));
  const head = [
    "POST / HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/x-amz-json-1.0",
    `X-Amz-Target: AmazonSQS.${action}`,
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** A request of SNS: a form, as SDKs send it, without a signature. */
export function snsRequest(port: number, parameters: Readonly<Record<string, string>>): Buffer {
  // This is the only character of a slot that a form would encode.
  const form = new URLSearchParams({ Version: "2010-03-31", ...parameters });
  const body = Buffer.from(form.toString().replaceAll("%40", "@"));
  const head = [
    "POST / HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${body.length}`,
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** A request without a body for the admin API. */
export function getRequest(port: number, path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`, "latin1");
}

/** Text that becomes a slot once the request is built. */
export const slot = (): string => SLOT;

/** Offsets of the slots in a request, in order. */
export function slotsOf(request: Buffer): number[] {
  const offsets: number[] = [];
  for (let at = request.indexOf(SLOT); at >= 0; at = request.indexOf(SLOT, at + SLOT_DIGITS)) {
    offsets.push(at);
  }
  return offsets;
}

/** Writes `value` into the slot at `at`, with leading zeros. Q1 */
export function writeSlot(request: Buffer, at: number, value: number): void {
  let rest = value;
  for (let index = at + SLOT_DIGITS - 1; index >= at; index -= 1) {
    request[index] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Calls an action and reads its response; throws on any status except 200. */
export async function callSqs(
  connection: RawConnection,
  port: number,
  action: string,
  input: unknown,
): Promise<Record<string, unknown>> {
  const reply = await connection.call(sqsRequest(port, action, input));
  if (reply === null) throw new Error(`${action}: the connection ended before the response`);
  const text = reply.body.toString("utf8");
  if (reply.status !== 200) throw new Error(`${action}: ${reply.status} ${text.slice(0, 300)}`);
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
