// Dedup: the memory cost of a live deduplication id. A FIFO queue accepts many messages with unique
// ids; all of them are received and deleted, so that only the ids remain. They come in portions, so
// that memory reserved for waiting messages does not count as memory of ids.
//   U1. The heap and the buffers outside of it count. The resident size is shown as well, but also
//       contains pages that the drain left behind.
//   U2. Ids live for five minutes: a fill and drain that takes longer is an error, because the
//       first ids would be forgotten before they are measured.

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
      throw new Error("the deduplication window ended before the measurement"); // U2
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

  /** The first id must still be live, or the measurement is wrong. */
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
