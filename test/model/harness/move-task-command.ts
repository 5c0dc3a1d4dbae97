// Move-task command: starts a task, waits for it, and lets the reference follow it as one step.

import fc from "fast-check";
import { Illegal } from "../reference/choices.ts";
import { runMoveTask } from "../reference/moving.ts";
import {
  arnOf,
  attributeMs,
  expire,
  queueNamed,
  queueOfArn,
  type RefQueue,
  stateOf,
} from "../reference/state.ts";
import { agree } from "./agreement.ts";
import { audit, peekAll } from "./audit.ts";
import type { Session } from "./session.ts";

const STEPS_MAX = 200;
/** The longest that a task may take; messages that expire sooner are not moved. */
const TASK_MS_MAX = 10_000;

interface MoveRecipe {
  readonly source: string;
  readonly destination: string | null;
}

/** Where the messages of `source` go; null if nowhere, or if AWS does not define it. */
function targetsOf(session: Session, recipe: MoveRecipe): RefQueue[] | null {
  const { world } = session;
  const source = queueNamed(world, recipe.source);
  const targets = new Set<RefQueue>();
  for (const message of source?.messages ?? []) {
    const named = recipe.destination === null ? null : arnOf(world, recipe.destination);
    const target = queueOfArn(world, named ?? message.sourceArn ?? "");
    if (target === undefined || target === source) return null;
    if (attributeMs(target, "DelaySeconds") > 0) return null;
    targets.add(target);
  }
  return [...targets];
}

function isReady(session: Session, recipe: MoveRecipe): boolean {
  const now = session.time.now();
  const source = queueNamed(session.world, recipe.source);
  if (session.waiters.length > 0) return false;
  if (recipe.destination === recipe.source) return false;
  if (source === undefined) return true;
  const soon = now + TASK_MS_MAX - attributeMs(source, "MessageRetentionPeriod");
  return (
    targetsOf(session, recipe) !== null &&
    source.messages.every((each) => stateOf(each, now) === "visible" && each.sentAt > soon)
  );
}

async function finish(session: Session, sourceArn: string): Promise<void> {
  for (let i = 0; i < STEPS_MAX; i += 1) {
    const answer = await session.ask("listMoveTasks", { sourceArn, limit: 1 });
    if (!answer.ok) throw new Illegal(`listMoveTasks: ${answer.fault.message}`);
    if (answer.value.tasks[0]?.status !== "RUNNING") return;
    session.time.stepTo(session.time.nextWake() ?? 0);
  }
  throw new Illegal("a move task without a rate did not end");
}

async function move(session: Session, recipe: MoveRecipe): Promise<void> {
  const { world } = session;
  const sourceArn = arnOf(world, recipe.source);
  const destinationArn = recipe.destination === null ? null : arnOf(world, recipe.destination);
  const targets = targetsOf(session, recipe) ?? [];
  const started = await session.run("startMoveTask", {
    sourceArn,
    destinationArn,
    perSecondMax: null,
  });
  if (!started.ok) return;
  await finish(session, sourceArn);
  const task = world.tasks.at(-1);
  if (task === undefined) throw new Illegal("the reference has no task");
  const peeked = new Map();
  for (const target of targets) peeked.set(target.name, await peekAll(session, target.name));
  runMoveTask(world, task, session.choicesFor({ peeked }));
  expire(world, session.time.now());
  const answer = await session.ask("listMoveTasks", { sourceArn, limit: 1 });
  const view = answer.ok ? answer.value.tasks[0] : undefined;
  const expected = { ...task, handle: undefined, perSecondMax: null, failureReason: null };
  agree("the finished move task", expected, { ...view, handle: undefined, toMove: undefined });
  await audit(session);
}

const anyRecipe = fc.record<MoveRecipe>({
  source: fc.constantFrom("orders-dead", "groups-dead.fifo", "orders-attic", "orders"),
  destination: fc.constantFrom(null, null, "orders", "groups.fifo"),
});

export const moveTask = anyRecipe.map((recipe) => ({
  check: (session: Readonly<Session>) => isReady(session as Session, recipe),
  run: (session: Session) => move(session, recipe),
  toString: () => `moveTask(${JSON.stringify(recipe)})`,
}));
