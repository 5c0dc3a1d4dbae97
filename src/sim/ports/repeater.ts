// Repeater: resends a message of a FIFO queue at the two critical instants: the last one at which
// its deduplication id is still recognised, and the first one at which it is not.
//   X1. Only while a broker commit takes no time: then the response comes at the instant of
//       acceptance, and the history shows that instant exactly.
//   X2. A resend is a named fault like any other, and none happens after the faults stop.

import { SQS_DEDUP_WINDOW_MS } from "../../core/limits.ts";
import type { OutgoingMessage } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { fractionOf, hashText } from "../faults/named-random.ts";
import type { Scheduler } from "../scheduler.ts";
import type { SimPorts } from "./sim-ports.ts";

const NAME = "repeater";
/** Fraction of records that are resent. */
const RESENT_FRACTION = 0.03;

export interface RepeaterOptions {
  readonly seed: number;
  readonly quietAt: number;
}

/** Wraps a queue so that some of its messages are sent a second and a third time. */
export function repeatingQueue(
  inner: Queue,
  ports: Pick<SimPorts, "faults" | "history" | "names"> & { readonly scheduler: Scheduler },
  { seed, quietAt }: RepeaterOptions,
): Queue {
  const { faults, history, names, scheduler } = ports;
  const label = hashText(NAME);
  const planned = new Set<string>();

  async function repeat(message: OutgoingMessage, name: string): Promise<void> {
    const [outcome] = await inner.sendBatch([message]).catch(() => []);
    if (outcome?.kind !== "sent") return;
    const { dedupId, groupId: group } = message;
    const { messageId } = outcome;
    history.add(NAME, { kind: "sent", name, messageId, dedupId, group });
  }

  function plan(message: OutgoingMessage): void {
    const [name = ""] = names.ofBody(message.body);
    if (planned.has(name)) return;
    planned.add(name);
    const endsAt = scheduler.now + SQS_DEDUP_WINDOW_MS;
    if (endsAt >= quietAt || fractionOf(hashText(`repeat ${name}`, seed)) >= RESENT_FRACTION)
      return; // X2
    for (const [count, [at, when]] of [
      [endsAt - 1, "in the last millisecond of its deduplication window"] as const,
      [endsAt, "in the first millisecond after its deduplication window"] as const,
    ].entries()) {
      scheduler.at(at, label, () => {
        const id = `repeat/${name}#${count + 1}`;
        if (faults.fires(id, `${name} is resent ${when}`)) void repeat(message, name); // X2
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
