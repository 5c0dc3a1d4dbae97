// Repeater: sends a message of a FIFO queue again at the two instants at which it matters most: the
// last at which its deduplication id is known, and the first at which it is not.
//   X1. Only while a commit of the broker takes no time: then an answer comes at the instant of the
//       acceptance, and a history tells exactly when that was.
//   X2. A repetition is a fault with a name like any other, and none comes after the faults.

import { SQS_DEDUP_WINDOW_MS } from "../../core/limits.ts";
import type { OutgoingMessage } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { fractionOf, hashText } from "../faults/named-random.ts";
import type { Scheduler } from "../scheduler.ts";
import type { SimPorts } from "./sim-ports.ts";

const NAME = "repeater";
/** About so many of all records are sent again. */
const PART = 0.03;

export interface RepeaterOptions {
  readonly seed: number;
  readonly quietAt: number;
}

/** The queue, some of whose messages are sent again by somebody who does not know better. */
export function repeatingQueue(
  inner: Queue,
  ports: Pick<SimPorts, "faults" | "history" | "names"> & { readonly scheduler: Scheduler },
  { seed, quietAt }: RepeaterOptions,
): Queue {
  const { faults, history, names, scheduler } = ports;
  const label = hashText(NAME);
  const met = new Set<string>();

  async function repeat(message: OutgoingMessage, name: string): Promise<void> {
    const [outcome] = await inner.sendBatch([message]).catch(() => []);
    if (outcome?.kind !== "sent") return;
    const { dedupId, groupId: group } = message;
    const { messageId } = outcome;
    history.add(NAME, { kind: "sent", name, messageId, dedupId, group });
  }

  function plan(message: OutgoingMessage): void {
    const [name = ""] = names.ofBody(message.body);
    if (met.has(name)) return;
    met.add(name);
    const endsAt = scheduler.now + SQS_DEDUP_WINDOW_MS;
    if (endsAt >= quietAt || fractionOf(hashText(`repeat ${name}`, seed)) >= PART) return; // X2
    for (const [count, [at, when]] of [
      [endsAt - 1, "the last moment that its deduplication id is known"] as const,
      [endsAt, "the first moment that its deduplication id is forgotten"] as const,
    ].entries()) {
      scheduler.at(at, label, () => {
        const id = `repeat/${name}#${count + 1}`;
        if (faults.strikes(id, `${name} is sent again at ${when}`)) void repeat(message, name); // X2
      });
    }
  }

  return {
    ...inner,
    async sendBatch(messages) {
      const outcomes = await inner.sendBatch(messages);
      for (const [at, outcome] of outcomes.entries()) {
        if (outcome.kind === "sent") plan(messages[at] as OutgoingMessage);
      }
      return outcomes;
    },
  };
}
