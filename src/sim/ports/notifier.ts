// Notifier: S3 in a simulated world. It changes objects and notifies the queue of every change, at
// least once: like S3, it resends what the queue does not accept. One message may contain several
// changes, which share one delivery and are decided separately.

import { durationMs } from "../../core/units.ts";
import { createNamedDice, hashText, type NamedDice } from "../faults/named-random.ts";
import { SimProcess } from "../hosts/process.ts";
import type { WorldServices } from "../services.ts";
import type { WorkloadItem } from "../workload.ts";

const NAME = "s3";
const RETRY_MS = durationMs(1_000);
/** How long a change waits for others that share its message. */
const BATCH_MS = 500;
/** The longest delay of a notification, which S3 does not bound. */
const DELAY_MS_MAX = 3_600_000;

export interface NotifierOptions {
  readonly seed: number;
  readonly recordsMax: number;
  /** Fraction of the changes whose notification is delayed. Default: none. */
  readonly delayed?: number;
}

interface Change {
  readonly name: string;
  readonly record: object;
}

export class Notifier {
  readonly #services: WorldServices;
  readonly #process: SimProcess;
  readonly #recordsMax: number;
  readonly #delayed: number;
  readonly #dice: NamedDice;
  #batch: Change[] = [];
  #unsent = 0;

  constructor(services: WorldServices, options: NotifierOptions) {
    this.#services = services;
    this.#recordsMax = options.recordsMax;
    this.#delayed = options.delayed ?? 0;
    this.#dice = createNamedDice(options.seed, "notifier");
    this.#process = new SimProcess(NAME, services.scheduler, () => {});
  }

  /** Changes that the queue has not accepted yet. */
  get unsent(): number {
    return this.#unsent;
  }

  accept({ name, group: object, change, lateMs }: WorkloadItem): void {
    const { bucket, scheduler, history, ports, tables } = this.#services;
    const { now } = scheduler;
    const removed = change === "removed";
    const text = tables?.textOf({ name, object }) ?? null;
    const { sequencer, identity, record } = bucket.change(name, object, change, now, text);
    ports.names.add(identity, name);
    const eventTime = now - lateMs;
    history.add(NAME, { kind: "timed", name, eventTime });
    const value = removed ? `${object} removed` : `${object}@${name}`;
    history.add(NAME, { kind: "object", name, object, sequencer, change, value });
    tables?.addFile({ name, object, sequencer, value, identity, removed, eventTime });
    this.#unsent += 1;
    if (!this.#dice.roll(`${name} delayed`, this.#delayed)) this.#add({ name, record });
    else {
      const afterMs = this.#dice.scaled(`${name} delay`, BATCH_MS, DELAY_MS_MAX);
      scheduler.after(afterMs, hashText(name), () => this.#add({ name, record }));
    }
  }

  #add(change: Change): void {
    const { scheduler } = this.#services;
    this.#batch.push(change);
    if (this.#batch.length >= this.#recordsMax) this.#flush();
    else if (this.#batch.length === 1) {
      scheduler.after(BATCH_MS, hashText(NAME), () => this.#flush());
    }
  }

  #flush(): void {
    const changes = this.#batch;
    this.#batch = [];
    if (changes.length > 0) void this.#send(changes);
  }

  async #send(changes: readonly Change[]): Promise<void> {
    const { queue, history } = this.#services;
    const body = JSON.stringify({ Records: changes.map(({ record }) => record) });
    for (;;) {
      const message = { body, attributes: {}, groupId: null, dedupId: null };
      const [outcome] = await queue.sendBatch([message]).catch(() => []);
      if (outcome?.kind === "sent") {
        const { messageId } = outcome;
        for (const { name } of changes) {
          history.add(NAME, { kind: "sent", name, messageId, dedupId: null, group: null });
        }
        this.#unsent -= changes.length;
        return;
      }
      await this.#process.clock.sleep(RETRY_MS);
    }
  }
}
