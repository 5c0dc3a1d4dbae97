// Queue plan: the queues a crash run works on, and how they are set up.
//   Q1. Every message carries a body of its own; it is known by it wherever it turns up.

export interface QueuePlan {
  readonly name: string;
  readonly fifo: boolean;
  /** Where the queue's dead letters go, and after how many receives. */
  readonly deadLetters: { readonly queue: string; readonly receivesMax: number } | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** Where move tasks take the queue's messages to. */
  readonly movesTo: string | null;
  /** What clients do with it: some queues are only sent to, since they are purged or moved. */
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

/** The queue that move tasks empty, and where to. It must be the dead letters of another one. */
export const MOVED_FROM = "stranded";
const MOVED_TO = "returned";
/** A queue can be purged once in a minute, so there are several to purge. */
export const PURGED = ["purged-1", "purged-2", "purged-3", "purged-4"] as const;

export const isPurged = (name: string): boolean => PURGED.some((purged) => purged === name);

/** Queues that messages go to come before the queues that they come from. */
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

/** Queues that are sent to; the others fill by moves alone. */
export const SENT_TO: readonly QueuePlan[] = QUEUES.filter(
  ({ use }) => use === "all" || use === "send",
);
export const RECEIVED_FROM: readonly QueuePlan[] = QUEUES.filter(
  ({ use }) => use === "all" || use === "receive",
);

/** Ours and the stand-in's. */
export const arnOf = (name: string): string => `arn:aws:sqs:us-east-1:000000000000:${name}`;

export const isContentBased = (name: string): boolean =>
  planOf(name).attributes.ContentBasedDeduplication === "true";

export function planOf(name: string): QueuePlan {
  const found = QUEUES.find((queue) => queue.name === name);
  if (found === undefined) throw new Error(`no such queue in the plan: ${name}`);
  return found;
}
