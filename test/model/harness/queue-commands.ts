// Queue commands: create, change, purge and delete queues.

import fc from "fast-check";
import { arnOf, queueNamed, redrivePolicyOf } from "../reference/state.ts";
import { anyQueue, command, NEXT, QUEUES, show } from "./command.ts";
import type { Session } from "./session.ts";

const anyAttributes = fc.record(
  {
    VisibilityTimeout: fc.constantFrom("0", "2", "30", "43201"),
    DelaySeconds: fc.constantFrom("0", "3", "900"),
    MessageRetentionPeriod: fc.constantFrom("60", "120", "345600"),
    MaximumMessageSize: fc.constantFrom("1024", "1048576"),
    ReceiveMessageWaitTimeSeconds: fc.constantFrom("0", "20"),
  },
  { requiredKeys: [] },
);
const anyFifoAttributes = fc.record(
  {
    ContentBasedDeduplication: fc.constantFrom("true", "false"),
    DeduplicationScope: fc.constantFrom("queue", "messageGroup"),
  },
  { requiredKeys: [] },
);
const anyRedrive = fc.constantFrom(null, null, "remove", "itself", 1, 2, 3);

/** Attributes of a queue; at most one of them is invalid. */
export const anyConfiguration = fc
  .tuple(anyAttributes, anyFifoAttributes, anyRedrive)
  .map(([plain, fifo, redrive]) => (session: Session, name: string): Record<string, string> => {
    const attributes: Record<string, string> = { ...plain };
    if (name.endsWith(".fifo")) Object.assign(attributes, fifo);
    const { world } = session;
    const waits = session.waiters.some((waiter) => waiter.input.queue === name);
    const target = redrive === "itself" ? name : NEXT[name];
    const usable = target !== undefined && queueNamed(world, target) !== undefined; // K1
    if (redrive === "remove") attributes.RedrivePolicy = "";
    else if (redrive !== null && usable && !(redrive === "itself" && waits)) {
      const maxReceiveCount = redrive === "itself" ? 2 : redrive;
      const deadLetterTargetArn = arnOf(world, target);
      attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
    }
    return attributes;
  });

export const createQueue = fc
  .tuple(fc.constantFrom(...QUEUES), anyConfiguration, fc.boolean())
  .map(([name, configure, bare]) =>
    command(`createQueue(${name})`, (session) => {
      const attributes: Record<string, string> = bare ? {} : configure(session, name);
      // Refused and differing values together: which refusal comes first is not specified (K2).
      if (attributes.VisibilityTimeout === "43201") delete attributes.VisibilityTimeout;
      const { world } = session;
      const differing = Object.entries(attributes).filter(
        ([key, value]) => (queueNamed(world, name)?.attributes[key] ?? "") !== value,
      );
      for (const [key] of differing.slice(1)) {
        if (queueNamed(world, name) !== undefined) delete attributes[key];
      }
      if (name.endsWith(".fifo")) attributes.FifoQueue = "true";
      if (attributes.RedrivePolicy === "") delete attributes.RedrivePolicy;
      return session.run("createQueue", { name, attributes, tags: {} });
    }),
  );

export const setAttributes = fc
  .tuple(anyQueue, anyConfiguration)
  .map(([queue, configure]) =>
    command(`setQueueAttributes(${queue})`, (session) =>
      session.run("setQueueAttributes", { queue, attributes: configure(session, queue) }),
    ),
  );

/**
 * K2: not while a receive waits on the queue, or another queue sends dead letters to it.
 */
function isDeletable(session: Session, name: string): boolean {
  const arn = arnOf(session.world, name);
  return (
    session.waiters.every((waiter) => waiter.input.queue !== name) &&
    session.world.queues.every(
      (queue) => queue.name === name || redrivePolicyOf(queue)?.deadLetterTargetArn !== arn,
    )
  );
}

export const deleteQueue = anyQueue.map((queue) =>
  command(
    show("deleteQueue", queue),
    (session) => session.run("deleteQueue", { queue }),
    (session) => isDeletable(session, queue),
  ),
);

export const purgeQueue = anyQueue.map((queue) =>
  command(show("purgeQueue", queue), (session) => session.run("purgeQueue", { queue })),
);

export const tagging = fc
  .tuple(anyQueue, fc.constantFrom("a", "b"), fc.boolean())
  .map(([queue, key, on]) =>
    command(show(on ? "tagQueue" : "untagQueue", { queue, key }), (session) =>
      on
        ? session.run("tagQueue", { queue, tags: { [key]: session.newBody() } })
        : session.run("untagQueue", { queue, keys: [key] }),
    ),
  );

/** The queues every run begins with. */
export async function furnish(session: Session, configured: boolean[]): Promise<void> {
  for (const [index, name] of [...QUEUES].reverse().entries()) {
    const attributes: Record<string, string> = {};
    const next = NEXT[name];
    if (next !== undefined) {
      const deadLetterTargetArn = arnOf(session.world, next);
      attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: "2" });
    }
    if (name.endsWith(".fifo")) {
      attributes.FifoQueue = "true";
      if (configured[index]) attributes.ContentBasedDeduplication = "true";
      if (configured[index + 1]) attributes.DeduplicationScope = "messageGroup";
    }
    if (configured[index + 2]) attributes.VisibilityTimeout = "3";
    if (configured[index + 3]) attributes.MessageRetentionPeriod = "60";
    await session.run("createQueue", { name, attributes, tags: {} });
  }
}
