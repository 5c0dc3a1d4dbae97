// Sim queue: a queue of the embedded broker as one process accesses it, over the faulty network.
//   Q1. The history records what the broker did, whether or not the caller gets the response.
//   Q2. Standard queues may deliver twice and out of order. FIFO queues do not, not even by fault.
//   Q3. An entry of a batch may fail alone, with or without being carried out.

import { durationMs } from "../../core/units.ts";
import type { OutgoingMessage, SendOutcome } from "../../ports/queue.ts";
import type {
  Delivery,
  Queue,
  ReceiveRequest,
  SettlementResult,
} from "../../ports/queue-receiver.ts";
import { simDeadLetterOf } from "../dead-letter.ts";
import { mixWords } from "../faults/named-random.ts";
import { type HiddenValue, hiddenValuesIn } from "../hidden-value.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createCaller, fails, type SimPorts } from "./sim-ports.ts";

export interface SimQueueOptions {
  readonly service: Service;
  /** "late" only sends to the late queue, "release" only sends held messages back. */
  readonly role: "work" | "dead-letters" | "late" | "release";
}

/** The delivered message of each receipt; all processes of a world share it. */
export type Receipts = Map<
  string,
  { readonly messageId: string; readonly names: readonly string[] }
>;

const FAILED: SettlementResult = { kind: "failed", reason: "InternalError: try again" };
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
  const { service, role } = options;
  const { fifo } = inner;
  const call = createCaller(ports, process, service, "TG_QUEUE_UNAVAILABLE");
  const { send, receive, remove } = recordingQueue(ports, process.name, inner, role);
  return {
    kind: "queue",
    name: inner.name,
    fifo,
    limits: inner.limits,
    sendBatch: (messages) =>
      call("send", () => send(messages), {
        runPart: (word) => inPart(messages, word, send, REFUSED),
        runTwice: async (word) => {
          const outcomes = await send(messages);
          if (!fifo && word % 2 === 0) await send(messages); // Q2
          return outcomes;
        },
      }),
    receive: (request, signal) =>
      call("receive", () => receive(request, signal), {
        runTwice: async (word) => {
          const deliveries = await receive(request, signal);
          const again = deliveries.filter((_, at) => !fifo && mixWords(word, at) % 4 === 0);
          const changes = again.map(({ receipt }) => ({ receipt, visibilityMs: durationMs(0) }));
          if (changes.length > 0) await inner.changeVisibility(changes); // Q2
          return deliveries;
        },
      }),
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

/** The body of a masked message is sent as it is: there is no other copy to redrive. */
function exposedBy({ body, attributes }: OutgoingMessage): readonly HiddenValue[] {
  const inBody = hiddenValuesIn(body).filter(({ by }) => by === "refused");
  return [...inBody, ...hiddenValuesIn(Object.values(attributes).join(" "))];
}

/** The queue's operations, each added to the history as the broker carries it out (Q1). */
function recordingQueue(
  { history, names, receipts }: SimPorts & { readonly receipts: Receipts },
  actor: string,
  inner: Queue,
  role: SimQueueOptions["role"],
) {
  function recordSent(message: OutgoingMessage, messageId: string): void {
    const { body, dedupId, groupId: group, attributes } = message;
    const deadLetter = simDeadLetterOf((name) => attributes[name], names);
    if (role === "dead-letters" || role === "late") {
      const where = role === "late" ? "the late queue" : "a dead letter";
      for (const value of exposedBy(message)) {
        history.add(actor, { kind: "exposed", ...value, where });
      }
    }
    if (role === "dead-letters" && deadLetter !== null) {
      history.add(actor, { kind: "dead-letter", messageId, ...deadLetter });
      return;
    }
    if (role === "release") {
      history.add(actor, { kind: "moved-back", names: names.ofBody(body) });
      return;
    }
    for (const name of names.ofBody(body)) {
      if (role === "late") history.add(actor, { kind: "late-sent", name, messageId });
      else history.add(actor, { kind: "sent", name, messageId, dedupId, group });
    }
  }

  return {
    async send(messages: readonly OutgoingMessage[]): Promise<readonly SendOutcome[]> {
      const outcomes = await inner.sendBatch(messages);
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome.kind === "sent") recordSent(messages[at] as OutgoingMessage, outcome.messageId);
      }
      return outcomes;
    },
    async receive(request: ReceiveRequest, signal: AbortSignal): Promise<readonly Delivery[]> {
      const deliveries = await inner.receive(request, signal);
      for (const { messageId, receipt, receiveCount, body, attributes } of deliveries) {
        const recordNames = names.ofBody(body);
        names.delivered(messageId, recordNames);
        receipts.set(receipt, { messageId, names: recordNames });
        const event = { names: recordNames, messageId, receipt, receiveCount };
        const deadLetter = simDeadLetterOf((name) => attributes[name], names);
        history.add(actor, { kind: "delivered", ...event, deadLetter });
      }
      return deliveries;
    },
    async remove(some: readonly string[]): Promise<readonly SettlementResult[]> {
      const outcomes = await inner.deleteBatch(some);
      for (const [at, outcome] of outcomes.entries()) {
        const message = receipts.get(some[at] ?? "");
        if (outcome.kind !== "done" || message === undefined || role === "dead-letters") continue;
        history.add(actor, { kind: "acked", ...message });
      }
      return outcomes;
    },
  };
}

/** Carries out some entries, and reports some of those as failed (Q3). */
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
