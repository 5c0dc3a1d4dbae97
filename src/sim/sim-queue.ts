// Sim queue: a queue of the embedded broker as one process reaches it.
//   Q1. What is written down is what the broker did, whether or not the caller hears of it.
//   Q2. SQS may deliver twice and out of order, but not on FIFO queues, where no fault does either.
//   Q3. An entry of a batch may fail alone, with or without having been carried out.

import { durationMs } from "../core/units.ts";
import { DEAD_LETTER_ATTRIBUTES } from "../ingest/dead-letter.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type { Delivery, Queue, SettleOutcome } from "../ports/queue-receiver.ts";
import type { Service } from "./network.ts";
import type { SimProcess } from "./process.ts";
import { createCaller, fails, type SimPorts } from "./sim-ports.ts";
import { mixWords } from "./word-hash.ts";

export interface SimQueueOptions {
  readonly service: Service;
  readonly role: "work" | "dead-letters";
}

/** What was handed out by which receipt; all processes of a world share it. */
export type Receipts = Map<
  string,
  { readonly messageId: string; readonly names: readonly string[] }
>;

const FAILED: SettleOutcome = { kind: "failed", reason: "InternalError: try again" };
const REFUSED: SendOutcome = {
  kind: "refused",
  code: "InternalError",
  message: "try again",
  retry: "later",
};

export function createSimQueue(
  ports: SimPorts & { readonly receipts: Receipts },
  process: SimProcess,
  inner: Queue,
  options: SimQueueOptions,
): Queue {
  const { history, names, receipts } = ports;
  const { service, role } = options;
  const call = createCaller(ports, process, service, "TG_QUEUE_UNAVAILABLE");

  async function send(messages: readonly OutgoingMessage[]): Promise<readonly SendOutcome[]> {
    const outcomes = await inner.sendBatch(messages);
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.kind === "sent") wasSent(messages[at] as OutgoingMessage, outcome.messageId);
    }
    return outcomes;
  }

  function wasSent(message: OutgoingMessage, messageId: string): void {
    const { body, dedupId, groupId: group } = message;
    const fence = letterFenceOf(message.attributes) ?? 0;
    for (const name of names.ofBody(body)) {
      if (role === "dead-letters")
        history.add(process.name, { kind: "dead-letter", name, messageId, fence });
      else history.add(process.name, { kind: "sent", name, messageId, dedupId, group });
    }
  }

  function wasDelivered(delivery: Delivery): void {
    const { messageId, receipt, receiveCount } = delivery;
    const told = names.ofBody(delivery.body);
    receipts.set(receipt, { messageId, names: told });
    const letter = letterFenceOf(delivery.attributes);
    const event = { names: told, messageId, receipt, receiveCount, letter };
    history.add(process.name, { kind: "delivered", ...event });
  }

  async function remove(some: readonly string[]): Promise<readonly SettleOutcome[]> {
    const outcomes = await inner.deleteBatch(some);
    for (const [at, outcome] of outcomes.entries()) {
      const known = receipts.get(some[at] ?? "");
      if (outcome.kind !== "done" || known === undefined || role === "dead-letters") continue;
      history.add(process.name, { kind: "acked", ...known }); // Q1
    }
    return outcomes;
  }

  return {
    kind: "queue",
    name: inner.name,
    fifo: inner.fifo,
    limits: inner.limits,
    sendBatch: (messages) =>
      call("send", () => send(messages), {
        runPart: (word) => inPart(messages, word, send, REFUSED),
        runTwice: async (word) => {
          const outcomes = await send(messages);
          if (!inner.fifo && word % 2 === 0) await send(messages); // Q2
          return outcomes;
        },
      }),
    receive(request, signal) {
      const receive = async () => {
        const deliveries = await inner.receive(request, signal);
        for (const delivery of deliveries) wasDelivered(delivery);
        return deliveries;
      };
      return call("receive", receive, {
        runTwice: async (word) => {
          const deliveries = await receive();
          const again = deliveries.filter((_, at) => !inner.fifo && mixWords(word, at) % 4 === 0);
          const changes = again.map(({ receipt }) => ({ receipt, visibilityMs: durationMs(0) }));
          if (changes.length > 0) await inner.changeVisibility(changes); // Q2
          return deliveries;
        },
      });
    },
    deleteBatch: (some) =>
      call("delete", () => remove(some), {
        runPart: (word) => inPart(some, word, remove, FAILED),
      }),
    changeVisibility: (changes) =>
      call("changeVisibility", () => inner.changeVisibility(changes), {
        runPart: (word) => inPart(changes, word, inner.changeVisibility, FAILED),
      }),
    facts: () => call("facts", () => inner.facts()),
  };
}

/** The fence that a dead letter tells of itself; null for anything else. */
export function letterFenceOf(attributes: Readonly<Record<string, string>>): number | null {
  const facts = attributes[DEAD_LETTER_ATTRIBUTES.failure];
  return facts === undefined ? null : (JSON.parse(facts) as { fence: number }).fence;
}

/** Carries out some entries, and tells of some of those that they failed (Q3). */
async function inPart<I, O>(
  items: readonly I[],
  word: number,
  run: (items: readonly I[]) => Promise<readonly O[]>,
  failed: O,
): Promise<readonly O[]> {
  const tried = items.filter((_, at) => !fails(word, at));
  const outcomes = tried.length === 0 ? [] : await run(tried);
  let done = 0;
  return items.map((_, at) => {
    if (fails(word, at)) return failed;
    const outcome = outcomes[done] as O;
    done += 1;
    return fails(mixWords(word, 7), at) ? failed : outcome;
  });
}
