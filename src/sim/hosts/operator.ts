// Operator: what people do to a running system: redrive dead letters, purge queues and the ledger,
// pause the pipeline.
//   O1. A redrive reopens the records first, then moves the messages: in the other order, a message
//       could be delivered before its record may be tried.
//   O2. Purging a queue deletes messages on purpose, so the history records them. A purge is exempt
//       from store faults: without a response, its messages could not be recorded.

import type { Fault } from "../../broker/model/fault.ts";
import type { PeekedMessage } from "../../broker/model/operations.ts";
import type { Result } from "../../core/result.ts";
import { epochMs } from "../../core/units.ts";
import { endPause, setPause } from "../../ingest/running/pause.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { namesOfMessage } from "../dead-letter.ts";
import { SCOPE, type WorldServices } from "../services.ts";

const NAME = "operator";
/** More than a world has messages, so that one call returns the whole queue at one instant. */
const PEEKED_MAX = 100_000;
const NOTES_MAX = 1_000;
const PURGED_PER_CALL_MAX = 1_000;

export class SimOperator {
  readonly #services: WorldServices;
  #busy = 0;

  constructor(services: WorldServices) {
    this.#services = services;
  }

  /** Whether an operation is still in progress. */
  get busy(): boolean {
    return this.#busy > 0;
  }

  /** Reopens all parked records, and moves their messages back to the queue. */
  redrive(): void {
    void this.#during(async () => {
      await this.#reopen(); // O1
      await this.#moveBack();
    });
  }

  /** Only moves the messages, as a redrive in the AWS console does. */
  redriveNatively(): void {
    void this.#during(() => this.#moveBack());
  }

  reopen(): void {
    void this.#during(() => this.#reopen());
  }

  purgeLedger(): void {
    void this.#during(() => this.#services.ledger.purge(PURGED_PER_CALL_MAX));
  }

  purgeQueue(): void {
    void this.#during(async () => {
      const { broker, queue, history, storeFaults } = this.#services;
      const { next } = storeFaults;
      storeFaults.next = null; // O2
      const peeking = this.#peekPage(queue, 0);
      const purged = await broker.submit("purgeQueue", { queue: queue.name });
      storeFaults.next ??= next;
      if (!purged.ok) return;
      const names = namesOf(this.#services, (await peeking)?.messages ?? []);
      history.add(NAME, { kind: "purged", names }); // O2
    });
  }

  /** The history has the instant from which the ledger says so. */
  pause(): void {
    void this.#during(async () => {
      const { ledger, scheduler, history } = this.#services;
      await setPause(ledger, SCOPE, { since: epochMs(scheduler.now), by: NAME, reason: "" });
      history.add(NAME, { kind: "paused" });
    });
  }

  resume(): void {
    void this.#during(async () => {
      this.#services.history.add(NAME, { kind: "resumed" }); // Consumers may see it from now on.
      await endPause(this.#services.ledger, SCOPE);
    });
  }

  /** The records whose messages are in a queue. */
  async peek(queue: Queue): Promise<string[]> {
    const names: string[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: Page | undefined = await this.#peekPage(queue, after);
      names.push(...namesOf(this.#services, page?.messages ?? []));
      after = page?.nextAfterSeq ?? null;
    }
    return names;
  }

  async #peekPage({ name: queue }: Queue, afterSeq: number): Promise<Page | undefined> {
    const peeking = this.#services.broker.submit("peek", { queue, afterSeq, limit: PEEKED_MAX });
    const outcome: Result<Page, Fault> | undefined = await peeking.catch(() => undefined);
    return outcome?.ok ? outcome.value : undefined;
  }

  async #reopen(): Promise<void> {
    const { ledger, history, ports } = this.#services;
    const notes = await ledger.listNotes(SCOPE, "dossier", { after: null, limit: NOTES_MAX });
    const keys = notes.map(({ name }) => asRecordKey(name));
    if (keys.length === 0) return;
    const results = await ledger.reopen(SCOPE, keys);
    for (const [at, { kind }] of results.entries()) {
      if (kind !== "reopened") continue;
      history.add(NAME, { kind, name: ports.names.ofKey(keys[at] ?? "") });
    }
  }

  async #moveBack(): Promise<void> {
    const { broker, deadLetters, queue, arnOf, history } = this.#services;
    const peeking = this.#peekPage(deadLetters, 0);
    const started = await broker.submit("startMoveTask", {
      sourceArn: arnOf(deadLetters),
      destinationArn: arnOf(queue),
      perSecondMax: null,
    });
    const names = namesOf(this.#services, (await peeking)?.messages ?? []);
    if (started.ok) history.add(NAME, { kind: "moved-back", names });
  }

  /** A broker whose store has just failed rejects the operation, which is then dropped. */
  async #during(work: () => Promise<unknown>): Promise<void> {
    this.#busy += 1;
    await work().catch(() => undefined);
    this.#busy -= 1;
  }
}

interface Page {
  readonly messages: PeekedMessage[];
  readonly nextAfterSeq: number | null;
}

function namesOf({ ports }: WorldServices, messages: readonly PeekedMessage[]): string[] {
  return messages.flatMap((message) => namesOfMessage(message, ports.names));
}
