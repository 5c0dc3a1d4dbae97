// Plain producer: how programs without an outbox send. The doctor shows with it what a mistake in
// sending leads to.
//   B1. The outbox of the world stands for the program's own table: a row per event, and nothing
//       that sends rows later.

import {
  buildEnvelope,
  envelopeKey,
  messageDedupId,
  payloadDigest,
} from "../../core/events/envelope.ts";
import { durationMs } from "../../core/units.ts";
import type { OutgoingMessage } from "../../ports/queue.ts";
import type { EventInput } from "../../produce/prepare.ts";
import type {
  Producer,
  ProducerOptions,
  ProducerPorts,
  SendResult,
} from "../../produce/producer.ts";
import type { Relay } from "../../produce/relay.ts";

export interface PlainSending {
  /** A row that exists already counts as sent. */
  readonly skipsExistingRows: boolean;
  /** The deduplication id is random, and differs with every send. */
  readonly randomIds: boolean;
  /** Entries that the queue refuses are not noticed. */
  readonly ignoresFailures: boolean;
  /** Events of one batch beyond this number are dropped. */
  readonly entriesMax: number;
  /** How often each message reaches the queue: 0 if AWS refuses the sender. */
  readonly copies: number;
}

/** Sends row by row, retries, and uses ids of the events. */
export const CAREFUL_SENDING: PlainSending = {
  skipsExistingRows: false,
  randomIds: false,
  ignoresFailures: false,
  entriesMax: Number.POSITIVE_INFINITY,
  copies: 1,
};

/** How long events are collected into one batch. */
const COLLECT_MS = durationMs(1_000);
const LEASE_MS = durationMs(1);

interface Waiting {
  readonly message: OutgoingMessage;
  readonly resolve: (result: SendResult) => void;
  readonly reject: (error: unknown) => void;
}

export function createPlainProducer(sending: PlainSending) {
  return (ports: ProducerPorts, options: ProducerOptions = {}): Producer =>
    new PlainProducer(sending, ports, options);
}

class PlainProducer implements Producer {
  readonly #sending: PlainSending;
  readonly #ports: ProducerPorts;
  readonly #owner: string;
  #batch: Waiting[] = [];

  constructor(sending: PlainSending, ports: ProducerPorts, { owner = "" }: ProducerOptions) {
    this.#sending = sending;
    this.#ports = ports;
    this.#owner = owner;
  }

  async send(event: EventInput): Promise<SendResult> {
    const { target, random } = this.#ports;
    const built = buildEnvelope(event);
    if (built.kind !== "valid") throw new Error("the event is not valid");
    const { source, dedupeKey, payload } = event;
    const dedupId = this.#sending.randomIds ? random.uuid() : messageDedupId(source, dedupeKey);
    const message: OutgoingMessage = {
      body: built.value.body,
      attributes: {},
      groupId: target.fifo ? String(payload.group) : null,
      dedupId: target.fifo ? dedupId : null,
    };
    const isNew = await this.#writeRow(event, message);
    if (!isNew && this.#sending.skipsExistingRows) return DONE;
    return new Promise((resolve, reject) => {
      if (this.#batch.length === 0) void this.#sendBatch();
      this.#batch.push({ message, resolve, reject });
    });
  }

  async close(): Promise<void> {}

  /** The program's row (B1); false if it existed before. */
  async #writeRow(event: EventInput, message: OutgoingMessage): Promise<boolean> {
    const { target, outbox } = this.#ports;
    const { source, dedupeKey, payload } = event;
    const entry = {
      ...message,
      key: envelopeKey(source, dedupeKey),
      dedupId: messageDedupId(source, dedupeKey),
      payloadDigest: payloadDigest(payload),
    };
    if ((await outbox.find(target.name, entry.key)) !== undefined) return false;
    const lease = { owner: this.#owner, leaseMs: LEASE_MS };
    await outbox.register(target.name, [entry], lease);
    return true;
  }

  async #sendBatch(): Promise<void> {
    const { clock, target } = this.#ports;
    await clock.sleep(COLLECT_MS);
    const waiting = this.#batch;
    this.#batch = [];
    const { entriesMax, copies } = this.#sending;
    const sent = Array.from({ length: copies }, () => waiting.slice(0, entriesMax)).flat();
    for (const each of copies === 0 ? waiting : waiting.slice(entriesMax)) each.resolve(DONE);
    for (let from = 0; from < sent.length; from += target.limits.entriesMax) {
      await this.#sendEntries(sent.slice(from, from + target.limits.entriesMax));
    }
  }

  async #sendEntries(entries: readonly Waiting[]): Promise<void> {
    try {
      const messages = entries.map(({ message }) => message);
      const outcomes = await this.#ports.target.sendBatch(messages);
      for (const [at, { resolve, reject }] of entries.entries()) {
        const refused = outcomes[at]?.kind !== "sent";
        const noticed = refused && !this.#sending.ignoresFailures;
        if (noticed) reject(new Error("the queue refused the entry"));
        else resolve(DONE);
      }
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }
}

const DONE: SendResult = { kind: "sent", messageId: "", sequenceNumber: null };

/** Nothing sends rows later (B1). */
export function createNoRelay(): Relay {
  return {
    drain: async () => ({ sent: 0, refused: 0, failed: null }),
    run: () => new Promise(() => {}),
  };
}
