// Completeness: asks again and again up to which event time the pipeline is complete, as a
// downstream job would. It sees the broker and the ledger without faults; checkers compare its
// answers with what was settled.
//   C1. It asks in two forms: of an embedded cloud and a ledger with lists, and of a queue that
//       only counts its messages and a ledger without lists, as SQS and DynamoDB may be.
//   C2. How old messages are that wait in a queue that only counts them is an estimate, which a
//       world with late data defeats. So the second form is asked while no message waits: nothing
//       but hidden messages, in flight or in retry, is unsettled then.

import type { PeekedMessage } from "../../broker/model/operations.ts";
import { TidegateError } from "../../core/errors.ts";
import {
  type CompletenessPorts,
  type QueueLook,
  readCompleteness,
} from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Ledger } from "../../ports/ledger.ts";
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
  const counted = countedLooks(services);
  const ask = async (ports: Pick<CompletenessPorts, "ledger" | "looks">, isCounted: boolean) => {
    const startedAt = scheduler.now;
    const { at } = await readCompleteness({ clock, objects: null, ...ports }, pipeline);
    if (at === null) return;
    history.add(NAME, { kind: "complete", value: at, startedAt, counted: isCounted });
  };
  const askBoth = async () => {
    await ask({ ledger, looks }, false);
    if (await waits(services)) return; // C2
    await ask({ ledger: unlisted(ledger), looks: counted }, true); // C1
  };
  const again = () => {
    // A broker whose store has just failed does not answer; the next question will do.
    void askBoth()
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

/** The queue of the pipeline as SQS shows it, and the others as they are. */
function countedLooks(services: WorldServices): QueueLook[] {
  const { queue, deadLetters, lateQueue } = services;
  const counts = () => countsOf(services);
  const others = [deadLetters, lateQueue].map((each) => lookAt(services, each));
  return [{ kind: "counted", name: queue.name, counts }, ...others];
}

async function countsOf({ broker, queue }: WorldServices) {
  const outcome = await broker.submit("countQueues", { prefix: queue.name });
  if (!outcome.ok) throw new Error(outcome.fault.message);
  const counts = outcome.value.queues.find(({ name }) => name === queue.name);
  const { visible = 0, delayed = 0, inFlight: hidden = 0 } = counts ?? {};
  return { visible, delayed, hidden };
}

async function waits(services: WorldServices): Promise<boolean> {
  const { visible, delayed } = await countsOf(services);
  return visible + delayed > 0;
}

/** The same ledger, as a DynamoDB table without indexes answers. */
function unlisted(ledger: Ledger): Ledger {
  const refuse = () =>
    Promise.reject(new TidegateError("TG_LISTING_OFF", "the world has no lists"));
  return { ...ledger, listRecords: refuse };
}

function queued({ attributes, ...message }: PeekedMessage) {
  const texts = Object.entries(attributes ?? {}).map(([name, { value }]) => [name, value]);
  return { ...message, attributes: Object.fromEntries(texts) };
}
