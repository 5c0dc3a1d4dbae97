// Audit: compares everything that can be read from the broker without changing it.

import type { OperationInput, PeekedMessage } from "../../../src/broker/model/operations.ts";
import { Illegal } from "../reference/choices.ts";
import { step } from "../reference/reference.ts";
import { isFifo, type RefWorld } from "../reference/state.ts";
import { agree, comparableBag, comparablePeek } from "./agreement.ts";
import type { Session } from "./session.ts";

const PAGE_LIMIT = 3;
const PAGES_MAX = 200;

/** All messages of a queue as the broker shows them, page by page. */
export async function peekAll(session: Session, queue: string): Promise<PeekedMessage[]> {
  const messages: PeekedMessage[] = [];
  let afterSeq = 0;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const input: OperationInput<"peek"> = { queue, afterSeq, limit: PAGE_LIMIT };
    const answer = await session.ask("peek", input);
    if (!answer.ok) throw new Illegal(`peek ${queue}: ${answer.fault.message}`);
    messages.push(...answer.value.messages);
    if (answer.value.nextAfterSeq === null) return messages;
    afterSeq = answer.value.nextAfterSeq;
  }
  throw new Illegal(`peek ${queue}: more than ${PAGES_MAX} pages`);
}

function expectStep(
  world: RefWorld,
  name: Parameters<typeof step>[1],
  input: unknown,
  now: number,
) {
  const silent = new Proxy({} as never, {
    get: () => () => {
      throw new Error("looking chooses nothing");
    },
  });
  return step(world, name, input as never, now as never, silent);
}

/** Counts and messages of every queue. */
export async function audit(session: Session): Promise<void> {
  const { world } = session;
  const now = session.time.now();
  const counted = await session.ask("countQueues", { prefix: "" });
  if (!counted.ok) throw new Illegal(`countQueues: ${counted.fault.message}`);
  const queues = counted.value.queues.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const expected = expectStep(world, "countQueues", { prefix: "" }, now);
  agree("countQueues", expected, { ok: true, value: { queues } });
  for (const queue of world.queues) {
    const input = { queue: queue.name, afterSeq: 0, limit: Number.MAX_SAFE_INTEGER };
    const outcome = expectStep(world, "peek", input, now);
    const messages = outcome.ok ? (outcome.value as { messages: PeekedMessage[] }).messages : [];
    const observed = await peekAll(session, queue.name);
    const comparable = isFifo(queue) ? comparablePeek : comparableBag;
    agree(`peek ${queue.name}`, comparable(messages), comparable(observed));
  }
}

/** Names, attributes, tags and dead-letter sources of every queue. */
export async function listAll(session: Session): Promise<void> {
  const { world } = session;
  const now = session.time.now();
  const asked = [["listQueues", { prefix: "", page: null }] as const];
  const perQueue = world.queues.flatMap(({ name }) => [
    ["getQueueAttributes", { queue: name, names: ["All"] }] as const,
    ["listQueueTags", { queue: name }] as const,
    ["listDeadLetterSources", { queue: name, page: null }] as const,
    ["findQueue", { queue: name }] as const,
  ]);
  for (const [name, input] of [...asked, ...perQueue]) {
    const answer = structuredClone(await session.ask(name, input as never)) as {
      value?: { names?: string[] };
    };
    answer.value?.names?.sort();
    const expected = expectStep(world, name, input, now);
    agree(`${name} ${JSON.stringify(input)}`, expected, answer);
  }
}
