// Dedup: what a live deduplication id costs. A FIFO queue takes many messages with ids of their
// own; all of them are received and deleted, after which only the ids are left to remember. They
// come in portions, so that room made for waiting messages does not count as room for ids.
//   U1. The heap and the buffers outside of it count; the resident size is shown beside, as it also
//       carries pages that the drain left behind.
//   U2. Ids live for five minutes: a fill and drain that takes longer is an error, as the first
//       ids would be forgotten by the time they are weighed.

import { askMemory } from "./child-server.ts";
import { drainAll } from "./drain.ts";
import { type BytesEach, fill, WARM_UP_SHARE, warmUp } from "./million.ts";
import type { BenchOptions, ServerName } from "./options.ts";
import { createQueue, measuredArgs, openSession } from "./servers.ts";
import { callSqs, SLOT_DIGITS } from "./sqs-request.ts";

const WINDOW_MS = 300_000;

/** Measures one kind of server. */
export async function runDedup(
  name: ServerName,
  folder: string,
  options: BenchOptions,
  progress: (line: string) => void,
): Promise<BytesEach> {
  const session = await openSession(name, measuredArgs(name, folder), options.connections);
  const count = options.backlog;
  try {
    await warmUp(session, "bench-warm-up.fifo", count);
    const before = await askMemory(session.server);
    const target = await createQueue(session, "bench-dedup.fifo");
    const startedAt = performance.now();
    const portion = Math.ceil(count * WARM_UP_SHARE);
    for (let firstIndex = 0; firstIndex < count; firstIndex += portion) {
      await fill(session, target, portion, firstIndex);
      await drainAll(session.connections, { target, firstIndex, count: portion });
    }
    progress(`${name}: ${count} deduplication ids sent`);
    const after = await askMemory(session.server);
    if (performance.now() - startedAt > WINDOW_MS) {
      throw new Error("the deduplication window passed before it was weighed"); // U2
    }
    const output = await callSqs(session.control, target.port, "ReceiveMessage", {
      QueueUrl: target.queueUrl,
    });
    if (output.Messages !== undefined) throw new Error("the drained queue is not empty");
    await expectRemembered(session.control, target);
    return {
      rssBytes: (after.rssBytes - before.rssBytes) / count,
      heldBytes: (after.heldBytes - before.heldBytes) / count, // U1
    };
  } finally {
    await session.end();
  }

  /** The first id must still be known, or what was weighed is not what it seems. */
  async function expectRemembered(
    connection: typeof session.control,
    target: { readonly port: number; readonly queueUrl: string },
  ): Promise<void> {
    const QueueUrl = target.queueUrl;
    await callSqs(connection, target.port, "SendMessage", {
      QueueUrl,
      MessageBody: "again",
      MessageDeduplicationId: "0".repeat(SLOT_DIGITS),
      MessageGroupId: "again",
    });
    const output = await callSqs(connection, target.port, "ReceiveMessage", { QueueUrl });
    if (output.Messages !== undefined) throw new Error(`${name} forgot a live deduplication id`);
  }
}
