// AWS recorder: a proxy before the embedded cloud and DynamoDB Local that writes down which IAM
// actions on which resources a client needs, and enforces a policy on them.
//   R1. It sees the requests themselves, of every thread and process, not the intentions of code.
//   R2. A request that the policy does not allow gets 403, as on AWS, and is not forwarded.
//   R3. Paths of the embedded cloud do not exist, as on AWS, and are not recorded.

import { createServer, type IncomingHttpHeaders, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { decideAccess } from "../../../src/core/access/access-policy.ts";
import { type AwsCall, callsOf, type RecordedRequest } from "./aws-calls.ts";

export interface AwsRecorder extends AsyncDisposable {
  readonly endpoint: string;
  /** Every call so far, each once. */
  calls(): readonly AwsCall[];
  /** Calls that the policy did not allow (R2). */
  refused(): readonly AwsCall[];
}

export interface AwsRecorderOptions {
  readonly cloud: string;
  readonly dynamodb: string;
  readonly ecs: string;
  /** Text of the policy of the role. */
  readonly policy: string;
  /** Whether queues, topics, buckets and tables are encrypted with a customer key. */
  readonly keyArn: string | null;
}

/** Whether the policy of a role allows a call over TLS. */
export function isAllowed(policy: string, { action, resource, ...call }: AwsCall): boolean {
  const context = { "aws:securetransport": "true", ...call.context };
  return decideAccess(policy, { principal: null, action, resource, context }) === "allow";
}

export async function startAwsRecorder(options: AwsRecorderOptions): Promise<AwsRecorder> {
  const { cloud, dynamodb, ecs, policy, keyArn } = options;
  const recorded = new Map<string, AwsCall>();
  const refusals: AwsCall[] = [];
  const note = (calls: readonly AwsCall[]): boolean => {
    for (const call of calls) recorded.set(`${call.action} ${call.resource}`, call);
    const forbidden = calls.filter((call) => !isAllowed(policy, call));
    refusals.push(...forbidden);
    return forbidden.length === 0;
  };
  const server = createServer(async (incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    const request: RecordedRequest = { method, url, headers, body: await buffer(incoming) };
    if (url.startsWith("/_tidegate/")) return void outgoing.writeHead(404).end(); // R3
    const { service, calls, ifMissing } = callsOf(request, keyArn);
    if (!note(calls)) {
      const denied = calls.map(({ action, resource }) => `${action} on ${resource}`).join(", ");
      const isXml = service === "s3" || service === "sns";
      outgoing.writeHead(403, { "content-type": isXml ? "application/xml" : "application/json" });
      outgoing.end(
        isXml
          ? `<Error><Code>AccessDenied</Code><Message>${denied}</Message></Error>`
          : JSON.stringify({ __type: "AccessDeniedException", message: denied }),
      );
      return;
    }
    const targets: Readonly<Record<string, string>> = { dynamodb, ecs };
    const reply = await forward(targets[service] ?? cloud, request);
    if (reply.status === 404) note(ifMissing);
    outgoing.writeHead(reply.status, reply.headers);
    outgoing.end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    calls: () => [...recorded.values()],
    refused: () => refusals,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function forward(target: string, request: RecordedRequest): Promise<Reply> {
  const { method, url, headers, body } = request;
  return await new Promise((resolve, reject) => {
    const sent = send(new URL(url, target), { method, headers }, async (answer) => {
      const { statusCode = 0, headers: answered } = answer;
      resolve({ status: statusCode, headers: answered, body: await buffer(answer) });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
