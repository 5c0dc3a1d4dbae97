// Operator: what people do to a running system: bring dead letters back, purge, tidy up.
//   O1. A redrive first reopens the records, then moves the messages: the other way round a message
//       could come back before its record may be tried.
//   O2. Purging a queue loses by right what is in it, so that is written down. It is spared from
//       the store's own trouble: what a purge took that nobody answered could not be told.

import type { Fault } from "../../broker/model/fault.ts";
import type { PeekedMessage } from "../../broker/model/operations.ts";
import type { Result } from "../../core/result.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { namesOfMessage } from "../dead-letter.ts";
import { SCOPE, type WorldServices } from "../services.ts";

const NAME = "operator";
/** More than a world has messages, so that one look sees all of a queue at one instant. */
const PEEKED_MAX = 100_000;
const NOTES_MAX = 1_000;
const PURGED_PER_CALL_MAX = 1_000;

export class Operator {
  readonly #stage: WorldServices;
  #busy = 0;

  constructor(stage: WorldServices) {
    this.#stage = stage;
  }

  /** Whether something that was begun is not done yet. */
  get busy(): boolean {
    return this.#busy > 0;
  }

  /** Lets all records that were given up on be tried again, and brings their messages back. */
  redrive(): void {
    void this.#during(async () => {
      await this.#reopen(); // O1
      await this.#moveBack();
    });
  }

  /** Only moves the messages, as a click in Amazon's console does. */
  redriveNatively(): void {
    void this.#during(() => this.#moveBack());
  }

  reopen(): void {
    void this.#during(() => this.#reopen());
  }

  purgeLedger(): void {
    void this.#during(() => this.#stage.ledger.purge(PURGED_PER_CALL_MAX));
  }

  purgeQueue(): void {
    void this.#during(async () => {
      const { broker, queue, history, storeTrouble } = this.#stage;
      const { next } = storeTrouble;
      storeTrouble.next = null; // O2
      const looking = this.#peekPage(queue, 0);
      const purged = await broker.submit("purgeQueue", { queue: queue.name });
      storeTrouble.next ??= next;
      if (!purged.ok) return;
      const names = namesOf(this.#stage, (await looking)?.messages ?? []);
      history.add(NAME, { kind: "purged", names }); // O2
    });
  }

  /** The records whose messages lie in a queue. */
  async peek(queue: Queue): Promise<string[]> {
    const names: string[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: Page | undefined = await this.#peekPage(queue, after);
      names.push(...namesOf(this.#stage, page?.messages ?? []));
      after = page?.nextAfterSeq ?? null;
    }
    return names;
  }

  async #peekPage({ name: queue }: Queue, afterSeq: number): Promise<Page | undefined> {
    const asked = this.#stage.broker.submit("peek", { queue, afterSeq, limit: PEEKED_MAX });
    const outcome: Result<Page, Fault> | undefined = await asked.catch(() => undefined);
    return outcome?.ok ? outcome.value : undefined;
  }

  async #reopen(): Promise<void> {
    const { ledger, history, ports } = this.#stage;
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
    const { broker, deadLetters, queue, arnOf, history } = this.#stage;
    const looking = this.#peekPage(deadLetters, 0);
    const started = await broker.submit("startMoveTask", {
      sourceArn: arnOf(deadLetters),
      destinationArn: arnOf(queue),
      perSecondMax: null,
    });
    const names = namesOf(this.#stage, (await looking)?.messages ?? []);
    if (started.ok) history.add(NAME, { kind: "moved-back", names });
  }

  /** A broker whose store has just failed refuses; people then try again another day. */
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
