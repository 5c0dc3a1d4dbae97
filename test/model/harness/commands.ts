// Commands: the random schedules of the comparison, in a world so small that things collide.
//   K1. Dead letters flow down a chain (x -> x-dead -> x-attic) or in place, never in a circle.
//   K2. What AWS leaves undefined is not asked: `ready` says no.

import fc from "fast-check";
import type { OperationInput, SendEntry } from "../../../src/broker/model/operations.ts";
import { durationMs } from "../../../src/core/units.ts";
import { arnOf, queueNamed, redrivePolicyOf } from "../reference/state.ts";
import { moveTask } from "./move-task-command.ts";
import type { Session } from "./session.ts";

export type Command = fc.AsyncCommand<Session, Session>;

export const QUEUES = [
  "orders",
  "orders-dead",
  "orders-attic",
  "lanes.fifo",
  "lanes-dead.fifo",
  "lanes-attic.fifo",
] as const;
const NEXT: Record<string, string> = {
  orders: "orders-dead",
  "orders-dead": "orders-attic",
  "lanes.fifo": "lanes-dead.fifo",
  "lanes-dead.fifo": "lanes-attic.fifo",
};

export function command(
  label: string,
  act: (session: Session) => Promise<unknown>,
  ready: (session: Session) => boolean = () => true,
): Command {
  return {
    check: ready,
    run: async (session) => {
      await act(session);
    },
    toString: () => label,
  };
}

const anyQueue = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("orders", "lanes.fifo") },
  { weight: 4, arbitrary: fc.constantFrom("orders-dead", "lanes-dead.fifo") },
  { weight: 1, arbitrary: fc.constantFrom("orders-attic", "lanes-attic.fifo", "absent") },
);
const rarely = fc.integer({ min: 0, max: 19 }).map((n) => n === 0);

function show(name: string, value: unknown): string {
  return `${name}(${JSON.stringify(value)})`;
}

const sendRecipe = fc.record({
  queue: anyQueue,
  batch: fc.boolean(),
  entries: fc.array(
    fc.record({
      group: fc.constantFrom("g1", "g2", "g3"),
      dedup: fc.constantFrom("d1", "d2", "d3", "d4", "new", "new", "new"),
      delayS: fc.constantFrom(null, null, null, 0, 1, 5),
      oversized: rarely,
      attribute: rarely,
      /** The body of many messages, for deduplication by content. */
      common: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  fault: fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom("group", "dedup", "delay") },
  ),
});
type SendRecipe = typeof sendRecipe extends fc.Arbitrary<infer T> ? T : never;

/** The entries that a recipe means for the queue as it is now. */
export function entriesOf(session: Session, recipe: SendRecipe): SendEntry[] {
  const fifo = recipe.queue.endsWith(".fifo");
  const queue = queueNamed(session.world, recipe.queue);
  const byContent = queue?.attributes.ContentBasedDeduplication === "true";
  const entries = recipe.batch ? recipe.entries : recipe.entries.slice(0, 1);
  return entries.map((entry, index): SendEntry => {
    const body = fifo && byContent && entry.common ? `common-${entry.dedup}` : session.newBody();
    const dedupId = entry.dedup === "new" ? `dedup-${body}` : entry.dedup;
    const explicit = !(byContent && entry.common) && recipe.fault !== "dedup";
    const fifoDelayMs = recipe.fault === "delay" && index === 0 ? 2_000 : null;
    const delayMs = entry.delayS === null ? null : entry.delayS * 1_000;
    const wanted = fifo ? fifoDelayMs : delayMs;
    return {
      body,
      sizeBytes: entry.oversized ? 2_000_000 : body.length,
      attributes: entry.attribute ? { colour: { type: "String", value: body } } : null,
      traceHeader: entry.attribute ? "Root=1-5759e988-bd862e3fe1be46a994272793" : null,
      groupId: fifo ? (recipe.fault === "group" ? null : entry.group) : null,
      dedupId: fifo && explicit ? dedupId : null,
      delayMs: wanted === null ? null : durationMs(wanted),
    };
  });
}

const send = sendRecipe.map((recipe) =>
  command(show("send", recipe), (session) =>
    session.run("send", {
      queue: recipe.queue,
      batch: recipe.batch,
      entries: entriesOf(session, recipe),
    }),
  ),
);

const receiveRecipe = fc.record({
  queue: anyQueue,
  max: fc.constantFrom(1, 2, 3, 10),
  visibilityS: fc.constantFrom(null, null, 0, 0, 1, 1, 5, 120, 43_200),
  attempt: fc.constantFrom(null, null, null, "attempt-1", "attempt-2"),
});
type ReceiveRecipe = typeof receiveRecipe extends fc.Arbitrary<infer T> ? T : never;

function receiveInput(recipe: ReceiveRecipe, waitMs: number): OperationInput<"receive"> {
  const { queue, max, visibilityS, attempt } = recipe;
  return {
    queue,
    max,
    waitMs: durationMs(waitMs),
    visibilityMs: visibilityS === null ? null : durationMs(visibilityS * 1_000),
    attemptId: waitMs === 0 ? attempt : null,
  };
}

/** K2: a receive is not asked for again once time alone has changed what it took. */
function isRepeatable(session: Session, recipe: ReceiveRecipe): boolean {
  const queue = queueNamed(session.world, recipe.queue);
  const now = session.time.now();
  const attempt = queue?.attempts.find(
    (each) => each.id === recipe.attempt && now < each.at + 300_000,
  );
  if (queue === undefined || attempt === undefined || attempt.spoiled) return true;
  if (now >= attempt.hiddenUntil) return true;
  return attempt.handles.every((handle) => {
    const message = queue.messages.find((each) => each.handle === handle);
    return message !== undefined && message.dueAt > now;
  });
}

const receive = receiveRecipe.map((recipe) =>
  command(
    show("receive", recipe),
    (session) => session.run("receive", receiveInput(recipe, 0)),
    (session) => isRepeatable(session, recipe),
  ),
);

function deadLettersInPlace(session: Session, name: string): boolean {
  const queue = queueNamed(session.world, name);
  if (queue === undefined) return false;
  return redrivePolicyOf(queue)?.deadLetterTargetArn === arnOf(session.world, name);
}

const wait = fc
  .tuple(receiveRecipe, fc.constantFrom(1_000, 5_000, 20_000))
  .map(([recipe, waitMs]) =>
    command(
      show("wait", { ...recipe, waitMs }),
      (session) => session.wait(receiveInput(recipe, waitMs), waitMs),
      (session) =>
        session.waiters.length < 4 &&
        queueNamed(session.world, recipe.queue) !== undefined &&
        !deadLettersInPlace(session, recipe.queue),
    ),
  );

const giveUp = fc.nat(3).map((index) =>
  command(
    show("giveUp", index),
    (session) => session.giveUp(session.waiters[index % session.waiters.length]!),
    (session) => session.waiters.length > 0,
  ),
);

/** Handles, mostly late ones; a number too high is a handle nobody ever had. */
const anyHandles = fc.array(fc.nat(7), { minLength: 1, maxLength: 3 });

function pickHandles(session: Session, name: string, picks: readonly number[]): string[] {
  const queue = queueNamed(session.world, name);
  const usable = session.held.filter(
    (held) => held.queueSerial === queue?.serial || held.queue !== name,
  );
  const own = usable.filter((held) => held.queue === name);
  return picks.map((pick) => {
    if (pick === 7) return usable.at(-1)?.handle ?? "garbage";
    return own.at(-1 - pick)?.handle ?? "garbage";
  });
}

const deleteMessages = fc
  .tuple(anyQueue, anyHandles)
  .map(([queue, picks]) =>
    command(show("delete", { queue, picks }), (session) =>
      session.run("delete", { queue, handles: pickHandles(session, queue, picks) }),
    ),
  );

const changeVisibility = fc
  .tuple(anyQueue, anyHandles, fc.constantFrom(0, 0, 1, 10, 600, 43_200))
  .map(([queue, picks, seconds]) =>
    command(show("changeVisibility", { queue, picks, seconds }), (session) => {
      const handles = pickHandles(session, queue, picks);
      const visibilityMs = durationMs(seconds * 1_000);
      const entries = handles.map((handle) => ({ handle, visibilityMs }));
      return session.run("changeVisibility", { queue, entries });
    }),
  );

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

/** Attributes as the queue takes them; at most one of them is refused. */
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

const createQueue = fc
  .tuple(fc.constantFrom(...QUEUES), anyConfiguration, fc.boolean())
  .map(([name, configure, bare]) =>
    command(`createQueue(${name})`, (session) => {
      const attributes: Record<string, string> = bare ? {} : configure(session, name);
      // Refused values and differing ones at once: which comes first is nobody's promise (K2).
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

const setAttributes = fc
  .tuple(anyQueue, anyConfiguration)
  .map(([queue, configure]) =>
    command(`setQueueAttributes(${queue})`, (session) =>
      session.run("setQueueAttributes", { queue, attributes: configure(session, queue) }),
    ),
  );

/**
 * K2: not while somebody waits on the queue, or sends dead letters to it, or while dead letters of
 * it lie elsewhere (whether they still tell where they came from is said nowhere).
 */
function isDeletable(session: Session, name: string): boolean {
  const arn = arnOf(session.world, name);
  return (
    session.waiters.every((waiter) => waiter.input.queue !== name) &&
    session.world.queues.every((queue) =>
      queue.messages.every((message) => queue.name === name || message.sourceArn !== arn),
    ) &&
    session.world.queues.every(
      (queue) => queue.name === name || redrivePolicyOf(queue)?.deadLetterTargetArn !== arn,
    )
  );
}

const deleteQueue = anyQueue.map((queue) =>
  command(
    show("deleteQueue", queue),
    (session) => session.run("deleteQueue", { queue }),
    (session) => isDeletable(session, queue),
  ),
);

const purgeQueue = anyQueue.map((queue) =>
  command(show("purgeQueue", queue), (session) => session.run("purgeQueue", { queue })),
);

const tagging = fc
  .tuple(anyQueue, fc.constantFrom("a", "b"), fc.boolean())
  .map(([queue, key, on]) =>
    command(show(on ? "tagQueue" : "untagQueue", { queue, key }), (session) =>
      on
        ? session.run("tagQueue", { queue, tags: { [key]: session.newBody() } })
        : session.run("untagQueue", { queue, keys: [key] }),
    ),
  );

const advance = fc
  .oneof(
    { weight: 12, arbitrary: fc.constantFrom(1, 500, 1_000, 2_000, 5_000, 20_000) },
    { weight: 3, arbitrary: fc.constantFrom(59_999, 60_000, 299_999, 300_000) },
    { weight: 1, arbitrary: fc.constantFrom(43_200_000, 345_600_000) },
  )
  .map((spanMs) => command(show("advance", spanMs), (session) => session.advance(spanMs)));

const crashDuringSend = sendRecipe.map((recipe) =>
  command(show("crashDuringSend", recipe), (session) =>
    session.runIntoCrash("send", {
      queue: recipe.queue,
      batch: recipe.batch,
      entries: entriesOf(session, recipe),
    }),
  ),
);
const crashDuringReceive = receiveRecipe.map((recipe) =>
  command(
    show("crashDuringReceive", recipe),
    (session) => session.runIntoCrash("receive", receiveInput(recipe, 0)),
    (session) => isRepeatable(session, recipe),
  ),
);
const crashDuringDelete = fc
  .tuple(anyQueue, anyHandles)
  .map(([queue, picks]) =>
    command(show("crashDuringDelete", { queue, picks }), (session) =>
      session.runIntoCrash("delete", { queue, handles: pickHandles(session, queue, picks) }),
    ),
  );

const restart = fc.constant(command("restart()", (session) => session.restart()));
const crash = fc.constant(command("crash()", (session) => session.crash()));
const auditAll = fc.constant(command("audit()", (session) => session.audit()));

function times(count: number, arbitrary: fc.Arbitrary<Command>): fc.Arbitrary<Command>[] {
  return Array.from({ length: count }, () => arbitrary);
}

/** Everything that may happen, the likelier the more often it stands here. */
export const anyCommand: fc.Arbitrary<Command>[] = [
  ...times(8, send),
  ...times(8, receive),
  ...times(2, wait),
  giveUp,
  ...times(3, deleteMessages),
  ...times(3, changeVisibility),
  ...times(2, setAttributes),
  ...times(5, advance),
  createQueue,
  deleteQueue,
  purgeQueue,
  tagging,
  ...times(2, moveTask),
  restart,
  crash,
  crashDuringSend,
  crashDuringReceive,
  crashDuringDelete,
  auditAll,
];

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
