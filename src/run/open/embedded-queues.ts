// Embedded queues: what an embedded cloud does with its queues, and SQS does not.

/** An embedded cloud, and the queues that may have a message. */
export interface EmbeddedQueues {
  readonly endpoint: string;
  readonly queues: readonly string[];
}

/** The names of all queues of an embedded cloud. */
export async function queuesAt(endpoint: string): Promise<string[]> {
  const reply = await fetch(new URL("/_tidegate/queues", endpoint));
  const { queues = [] } = (await reply.json()) as { queues?: { readonly name: string }[] };
  return queues.map(({ name }) => name);
}

/** Shows a hidden message. Null if no queue has it; `revealed` is false if it was visible. */
export async function revealMessage(
  { endpoint, queues }: EmbeddedQueues,
  messageId: string | null,
): Promise<{ readonly queue: string; readonly revealed: boolean } | null> {
  const body = JSON.stringify({ messageId });
  for (const queue of queues) {
    const url = new URL(`/_tidegate/queues/${queue}/retry`, endpoint);
    const headers = { "content-type": "application/json" };
    const reply = await fetch(url, { method: "POST", headers, body });
    if (!reply.ok) continue;
    const { revealed } = (await reply.json()) as { revealed: boolean };
    return { queue, revealed };
  }
  return null;
}
