// Queue plan: the queues a crash run works on, and how they are set up.
//   Q1. Every message carries a body of its own; it is known by it wherever it turns up.

export interface QueuePlan {
  readonly name: string;
  readonly fifo: boolean;
  /** Where the queue's dead letters go, and after how many receives. */
  readonly deadLetters: { readonly queue: string; readonly receivesMax: number } | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
}

function plan(
  name: string,
  attributes: Readonly<Record<string, string>>,
  deadLetters: QueuePlan["deadLetters"] = null,
): QueuePlan {
  const fifo = name.endsWith(".fifo");
  return {
    name,
    fifo,
    deadLetters,
    attributes: { ...attributes, ...(fifo ? { FifoQueue: "true" } : {}) },
    tags: { purpose: name },
  };
}

/** Dead-letter queues come before the queues that name them. */
export const QUEUES: readonly QueuePlan[] = [
  plan("dead", { VisibilityTimeout: "33" }),
  plan("dead.fifo", { VisibilityTimeout: "34" }),
  plan("plain", { VisibilityTimeout: "31", MessageRetentionPeriod: "86400" }),
  plan("ordered.fifo", { VisibilityTimeout: "32", MaximumMessageSize: "65536" }),
  plan("work", { VisibilityTimeout: "35" }, { queue: "dead", receivesMax: 2 }),
  plan("work.fifo", { VisibilityTimeout: "36" }, { queue: "dead.fifo", receivesMax: 1 }),
];

/** Queues that are sent to; the others fill by dead-letter moves alone. */
export const SENT_TO: readonly QueuePlan[] = QUEUES.filter(({ name }) => !name.startsWith("dead"));

export function planOf(name: string): QueuePlan {
  const found = QUEUES.find((queue) => queue.name === name);
  if (found === undefined) throw new Error(`no such queue in the plan: ${name}`);
  return found;
}
