// Completeness: asks again and again up to which event time the pipeline is complete, as a
// downstream job would. It sees the broker and the ledger without faults; checkers compare its
// answers with what was settled.

import type { PeekedMessage } from "../../broker/model/operations.ts";
import { type QueueLook, readCompleteness } from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { hashText } from "../faults/named-random.ts";
import type { WorldServices } from "../services.ts";
import { SimProcess } from "./process.ts";

const NAME = "downstream";
const EVERY_MS = 120_000;
/** More than a world has messages. */
const PEEKED_MAX = 100_000;

/** Starts to ask, until the world ends. */
export function askForCompleteness(services: WorldServices, pipeline: Pipeline): void {
  const { scheduler, ledger, history } = services;
  const { clock } = new SimProcess(NAME, scheduler, () => {});
  const looks = queueLooks(services);
  const ask = async () => {
    const startedAt = scheduler.now;
    const { at } = await readCompleteness({ clock, ledger, looks, objects: null }, pipeline);
    if (at !== null) history.add(NAME, { kind: "complete", value: at, startedAt });
  };
  const again = () => {
    // A broker whose store has just failed does not answer; the next question will do.
    void ask()
      .catch(() => undefined)
      .then(() => scheduler.after(EVERY_MS, hashText(NAME), again));
  };
  scheduler.after(EVERY_MS, hashText(NAME), again);
}

/** What is in the queues of a world. */
export function queueLooks(services: WorldServices): QueueLook[] {
  const { queue, deadLetters, lateQueue } = services;
  return [queue, deadLetters, lateQueue].map((each) => lookAt(services, each));
}

function lookAt({ broker }: WorldServices, { name }: Queue): QueueLook {
  async function* messages() {
    const input = { queue: name, afterSeq: 0, limit: PEEKED_MAX };
    const outcome = await broker.submit("peek", input);
    if (!outcome.ok) throw new Error(outcome.fault.message);
    for (const message of outcome.value.messages) yield queued(message);
  }
  return { kind: "exact", name, messages };
}

function queued({ attributes, ...message }: PeekedMessage) {
  const texts = Object.entries(attributes ?? {}).map(([name, { value }]) => [name, value]);
  return { ...message, attributes: Object.fromEntries(texts) };
}
