// Load: many connections, each of which sends its next request after the previous response.
//   L1. Every reply is checked: a rejected or failed one ends the run. So a server that responds
//       wrongly cannot look fast.
//   L2. One reply of CHECK_EVERY is read in full and its MD5 compared; the drain reads all of them.
//   L3. Load is bounded by a count, and sends also by a time.

import { createHash } from "node:crypto";
import type { RawConnection, Reply } from "./raw-connection.ts";
import { SLOT_DIGITS, slot, slotsOf, snsRequest, sqsRequest, writeSlot } from "./sqs-request.ts";

const CHECK_EVERY = 64;

export interface Target {
  readonly port: number;
  readonly queueUrl: string;
  readonly fifo: boolean;
}

export interface SendPlan {
  readonly target: Target;
  /** 1 sends with SendMessage, more with SendMessageBatch. */
  readonly perRequest: number;
  readonly bodyBytes: number;
  /** Number of message groups on a FIFO queue. */
  readonly groups: number;
  readonly messagesMax: number;
  readonly msMax: number;
  /** Index of the first message; indexes are never used twice on one queue. */
  readonly firstIndex: number;
  /** Publishes to this topic instead of sending to the queue, which must be its subscriber. */
  readonly topicArn?: string;
}

export interface Measured {
  readonly messages: number;
  readonly elapsedMs: number;
}

const padding = (bytes: number): string => "x".repeat(Math.max(0, bytes - SLOT_DIGITS));

function entryOf(plan: SendPlan): Record<string, string> {
  const entry = { MessageBody: slot() + padding(plan.bodyBytes) };
  if (!plan.target.fifo) return entry;
  return { ...entry, MessageDeduplicationId: slot(), MessageGroupId: `group-${slot()}` };
}

function templateOf(plan: SendPlan): Buffer {
  const { port, queueUrl } = plan.target;
  const entry = entryOf(plan);
  if (plan.topicArn !== undefined) {
    const Message = entry.MessageBody as string;
    return snsRequest(port, { Action: "Publish", TopicArn: plan.topicArn, Message });
  }
  if (plan.perRequest === 1) {
    return sqsRequest(port, "SendMessage", { QueueUrl: queueUrl, ...entry });
  }
  const Entries = Array.from({ length: plan.perRequest }, (_, id) => ({ Id: `${id}`, ...entry }));
  return sqsRequest(port, "SendMessageBatch", { QueueUrl: queueUrl, Entries });
}

interface SentReply {
  readonly MD5OfMessageBody: string;
  readonly Successful?: readonly { readonly Id: string; readonly MD5OfMessageBody: string }[];
}

/** Throws unless the reply confirms all messages of the request. L1 */
function checkSent(reply: Reply | null, plan: SendPlan, first: number): void {
  if (reply === null) throw new Error("the server closed a connection under load");
  if (plan.topicArn !== undefined) {
    // A publish returns no checksum; the queue's count at the end replaces the check.
    if (reply.status === 200 && reply.body.includes("<MessageId>")) return;
    throw new Error(`publish: ${reply.status} ${reply.body.toString("utf8").slice(0, 300)}`);
  }
  const failed = reply.status !== 200 || reply.body.includes('"Failed":[{');
  if (failed || !reply.body.includes('"MessageId"')) {
    throw new Error(`send: ${reply.status} ${reply.body.toString("utf8").slice(0, 300)}`);
  }
  if (Math.floor(first / plan.perRequest) % CHECK_EVERY !== 0) return;
  const output = JSON.parse(reply.body.toString("utf8")) as SentReply; // L2
  const sent = output.Successful ?? [{ ...output, Id: "0" }];
  if (sent.length !== plan.perRequest)
    throw new Error(`send: ${sent.length} of the batch accepted`);
  for (const { Id, MD5OfMessageBody } of sent) {
    const body = `${first + Number(Id)}`.padStart(SLOT_DIGITS, "0") + padding(plan.bodyBytes);
    const md5 = createHash("md5").update(body).digest("hex");
    if (md5 !== MD5OfMessageBody) throw new Error(`send: wrong MD5 ${MD5OfMessageBody}`);
  }
}

function fillSlots(request: Buffer, slots: readonly number[], plan: SendPlan, first: number): void {
  const perMessage = slots.length / plan.perRequest;
  for (const [index, at] of slots.entries()) {
    const message = first + Math.floor(index / perMessage);
    writeSlot(request, at, index % perMessage === 2 ? message % plan.groups : message);
  }
}

/** Sends until the plan's count or time is reached; resolves when the last reply is in. */
export function sendAll(connections: readonly RawConnection[], plan: SendPlan): Promise<Measured> {
  const template = templateOf(plan);
  const slots = slotsOf(template);
  const startedAt = performance.now();
  let next = plan.firstIndex;
  let sent = 0;
  let open = connections.length;
  return new Promise((resolve, reject) => {
    const work = (connection: RawConnection, request: Buffer): void => {
      const done = next - plan.firstIndex >= plan.messagesMax;
      if (done || performance.now() - startedAt >= plan.msMax) {
        open -= 1; // L3
        if (open === 0) resolve({ messages: sent, elapsedMs: performance.now() - startedAt });
        return;
      }
      const first = next;
      next += plan.perRequest;
      fillSlots(request, slots, plan, first);
      connection.send(request, (reply) => {
        try {
          checkSent(reply, plan, first);
        } catch (error) {
          return reject(error);
        }
        sent += plan.perRequest;
        work(connection, request);
      });
    };
    for (const connection of connections) work(connection, Buffer.from(template));
  });
}
