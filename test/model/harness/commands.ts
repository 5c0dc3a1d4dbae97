// Commands: the random schedules of the comparison, on so few queues and ids that they collide.

import fc from "fast-check";
import type { OperationInput, SendEntry } from "../../../src/broker/model/operations.ts";
import { durationMs } from "../../../src/core/units.ts";
import { arnOf, queueNamed, redrivePolicyOf } from "../reference/state.ts";
import { anyQueue, type Command, command, rarely, show } from "./command.ts";
import { moveTask } from "./move-task-command.ts";
import { createQueue, deleteQueue, purgeQueue, setAttributes, tagging } from "./queue-commands.ts";
import type { Session } from "./session.ts";

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

/** The entries that a recipe produces for the present queue. */
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

/** K2: a receive is not repeated after time alone has changed its messages. */
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

/** Receives repeatedly without hiding messages, which turns them into dead letters. */
const wearOut = fc.tuple(anyQueue, fc.integer({ min: 2, max: 4 })).map(([queue, rounds]) =>
  command(show("wearOut", { queue, rounds }), async (session) => {
    for (let round = 0; round < rounds; round += 1) {
      const recipe: ReceiveRecipe = { queue, max: 10, visibilityS: 0, attempt: null };
      await session.run("receive", receiveInput(recipe, 0));
    }
  }),
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

/** Handles, mostly recent ones; a number that is too high is an unknown handle. */
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

/** All commands; one that is listed more often is more likely. */
export const anyCommand: fc.Arbitrary<Command>[] = [
  ...times(8, send),
  ...times(8, receive),
  ...times(2, wait),
  ...times(3, wearOut),
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
