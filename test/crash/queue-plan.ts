// Queue plan: the queues that a crash run uses, and their settings.
//   Q1. Every message has a unique body, which identifies it in every queue.

export interface QueuePlan {
  readonly name: string;
  readonly fifo: boolean;
  /** Where the queue's dead letters go, and after how many receives. */
  readonly deadLetters: { readonly queue: string; readonly receivesMax: number } | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** Destination of the queue's move tasks. */
  readonly movesTo: string | null;
  /** How clients use it: some queues are only sent to, because they are purged or moved. */
  readonly use: "all" | "receive" | "send" | "none";
}

function plan(
  name: string,
  attributes: Readonly<Record<string, string>>,
  deadLetters: QueuePlan["deadLetters"] = null,
  rest: Partial<Pick<QueuePlan, "movesTo" | "use">> = {},
): QueuePlan {
  const fifo = name.endsWith(".fifo");
  return {
    name,
    fifo,
    deadLetters,
    attributes: { ...attributes, ...(fifo ? { FifoQueue: "true" } : {}) },
    tags: { purpose: name },
    movesTo: null,
    use: name.startsWith("dead") ? "receive" : "all",
    ...rest,
  };
}

/** The source and destination of move tasks. The source must be a dead-letter queue. */
export const MOVED_FROM = "stranded";
const MOVED_TO = "returned";
/** A queue can be purged once per minute, so there are several. */
export const PURGED = ["purged-1", "purged-2", "purged-3", "purged-4"] as const;

export const isPurged = (name: string): boolean => PURGED.some((purged) => purged === name);

/** Destinations of moves come before their sources. */
export const QUEUES: readonly QueuePlan[] = [
  plan("dead", { VisibilityTimeout: "33" }),
  plan("dead.fifo", { VisibilityTimeout: "34" }),
  plan("plain", { VisibilityTimeout: "31", MessageRetentionPeriod: "86400" }),
  plan("ordered.fifo", { VisibilityTimeout: "32", MaximumMessageSize: "65536" }),
  plan("work", { VisibilityTimeout: "35" }, { queue: "dead", receivesMax: 2 }),
  plan("work.fifo", { VisibilityTimeout: "36" }, { queue: "dead.fifo", receivesMax: 1 }),
  plan("content.fifo", { VisibilityTimeout: "37", ContentBasedDeduplication: "true" }),
  plan(MOVED_TO, {}, null, { use: "receive" }),
  plan(MOVED_FROM, {}, null, { use: "send", movesTo: MOVED_TO }),
  plan("stranding", {}, { queue: MOVED_FROM, receivesMax: 9 }, { use: "none" }),
  ...PURGED.map((name) => plan(name, {}, null, { use: "send" })),
];

/** Queues that clients send to; only moves fill the others. */
export const SENT_TO: readonly QueuePlan[] = QUEUES.filter(
  ({ use }) => use === "all" || use === "send",
);
export const RECEIVED_FROM: readonly QueuePlan[] = QUEUES.filter(
  ({ use }) => use === "all" || use === "receive",
);

/** The same for Tidegate and the stand-in. */
export const planArnOf = (name: string): string => `arn:aws:sqs:us-east-1:000000000000:${name}`;

export const isContentBased = (name: string): boolean =>
  planOf(name).attributes.ContentBasedDeduplication === "true";

export function planOf(name: string): QueuePlan {
  const match = QUEUES.find((queue) => queue.name === name);
  if (match === undefined) throw new Error(`unknown queue "${name}" in the plan`);
  return match;
}
