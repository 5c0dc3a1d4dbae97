// Drain: receives ten messages at a time and deletes them, over all connections, until none
// remains.
//   D1. Every index is received exactly once: one that was not sent, or comes twice, ends the run.
//   D2. The clock stops at the response to the last delete. The promise resolves once every
//       connection is idle again, so that the next load may use it.
//   D3. Empty receives are bounded, so that a lost message ends the run instead of hanging it.

import type { Target } from "./load.ts";
import type { RawConnection, Reply } from "./raw-connection.ts";
import { SLOT_DIGITS, sqsRequest } from "./sqs-request.ts";

const EMPTY_RECEIVES_MAX = 200_000;
const EMPTY_PAUSE_MS = 2;
const BATCH = 10;

export interface DrainPlan {
  readonly target: Target;
  readonly firstIndex: number;
  readonly count: number;
}

interface Received {
  readonly Messages?: readonly { readonly Body: string; readonly ReceiptHandle: string }[];
}

/** The response as text; anything except a full success is an error. */
function textOf(what: string, reply: Reply | null): string {
  const text = reply?.body.toString("utf8") ?? "the connection ended";
  if (reply?.status !== 200 || text.includes('"Failed":[{')) {
    throw new Error(`${what}: ${reply?.status} ${text.slice(0, 300)}`);
  }
  return text;
}

function deleteRequest({ port, queueUrl }: Target, received: Received): Buffer {
  const Entries = (received.Messages ?? []).map(({ ReceiptHandle }, id) => ({
    Id: `${id}`,
    ReceiptHandle,
  }));
  return sqsRequest(port, "DeleteMessageBatch", { QueueUrl: queueUrl, Entries });
}

/** The progress of a drain, from the first receive to the last delete. */
class Tally {
  received = 0;
  deleted = 0;
  empty = 0;
  readonly #seen: Uint8Array;
  readonly #plan: DrainPlan;

  constructor(plan: DrainPlan) {
    this.#plan = plan;
    this.#seen = new Uint8Array(plan.count);
  }

  take(received: Received): number {
    const messages = received.Messages ?? [];
    for (const { Body } of messages) {
      const index = Number(Body.slice(0, SLOT_DIGITS)) - this.#plan.firstIndex;
      if (this.#seen[index] === undefined)
        throw new Error(`received a message that was not sent: ${Body}`);
      if (this.#seen[index] === 1) throw new Error(`received twice: ${Body}`); // D1
      this.#seen[index] = 1;
    }
    this.received += messages.length;
    if (messages.length === 0) this.empty += 1;
    if (this.empty > EMPTY_RECEIVES_MAX) {
      throw new Error(`drained only ${this.received} of ${this.#plan.count}`); // D3
    }
    return messages.length;
  }
}

/** Drains on one connection; calls `onDone` when nothing remains to receive. */
function drainOn(
  connection: RawConnection,
  plan: DrainPlan,
  tally: Tally,
  onDone: (error: unknown) => void,
): void {
  const receive = sqsRequest(plan.target.port, "ReceiveMessage", {
    QueueUrl: plan.target.queueUrl,
    MaxNumberOfMessages: BATCH,
  });
  const guarded = (step: (reply: Reply | null) => void) => (reply: Reply | null) => {
    try {
      step(reply);
    } catch (error) {
      onDone(error);
    }
  };
  const afterReceive = guarded((reply) => {
    const batch = JSON.parse(textOf("receive", reply)) as Received;
    const size = tally.take(batch);
    if (size === 0) {
      setTimeout(work, EMPTY_PAUSE_MS);
      return;
    }
    connection.send(
      deleteRequest(plan.target, batch),
      guarded((answer) => {
        textOf("delete", answer);
        tally.deleted += size;
        work();
      }),
    );
  });
  function work(): void {
    if (tally.received >= plan.count) onDone(null);
    else connection.send(receive, afterReceive);
  }
  work();
}

/** Receives and deletes `count` messages from `firstIndex` on; there must be no others. */
export async function drainAll(
  connections: readonly RawConnection[],
  plan: DrainPlan,
): Promise<{ readonly messages: number; readonly elapsedMs: number }> {
  const tally = new Tally(plan);
  const startedAt = performance.now();
  let elapsedMs = 0;
  await Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve, reject) => {
          drainOn(connection, plan, tally, (error) => {
            if (error !== null) return reject(error);
            if (elapsedMs === 0 && tally.deleted === plan.count) {
              elapsedMs = performance.now() - startedAt; // D2
            }
            resolve();
          });
        }),
    ),
  );
  return { messages: plan.count, elapsedMs };
}
