// Courier: carries registered rows to the target and marks them sent.
//   C1. A row is marked sent only after the target has answered for it.
//   C2. Within a group, a row leaves only after the one before it was answered for; one that has to
//       be tried again keeps its place. When it is given up, so are those waiting behind it: they
//       stay registered, and the relay sends them in order.
//   C3. What the sender got wrong is not tried again.
//   C4. A row that is under way is not sent a second time: whoever asks shares the answer.

import { present, unreachable } from "../core/assert.ts";
import { messageBytes } from "../core/encoding/message-size.ts";
import { reasonOf, TidegateError } from "../core/errors.ts";
import { dedupIdOf } from "../ledger/outbox-transitions.ts";
import type { Clock } from "../ports/clock.ts";
import type { Outbox, OutboxRow, RefusedMark, SentMark } from "../ports/outbox.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type { Random } from "../ports/random.ts";
import type { Turn } from "../ports/turn.ts";
import { type Sendable, selectBatch } from "./batcher.ts";
import { BATCHES_IN_FLIGHT_MAX, backoffMs, SEND_ATTEMPTS_MAX, type Target } from "./target.ts";

/** Where a test may let the process die. */
export type SendPoint =
  | "before-put"
  | "put"
  | "before-register"
  | "registered"
  | "before-send"
  | "answered"
  | "marked";

export interface OutboxSenderPorts {
  readonly target: Target;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random: Random;
  readonly turn: Turn;
}

export interface OutboxSenderOptions {
  /** More than one trades order for speed: see docs/guides/producing.md. */
  readonly entriesPerGroupMax?: number;
  readonly batchesInFlightMax?: number;
  readonly attemptsMax?: number;
  readonly onPoint?: (point: SendPoint) => void;
}

export type RowSendResult =
  | { readonly kind: "sent"; readonly messageId: string; readonly sequenceNumber: string | null }
  | { readonly kind: "refused"; readonly error: TidegateError }
  /** Still registered: nothing is lost, and nothing can be said of the queue. */
  | { readonly kind: "unsent"; readonly error: TidegateError };

interface PendingSend extends Sendable {
  readonly row: OutboxRow;
  readonly place: number;
  attempts: number;
  resolve(result: RowSendResult): void;
}

interface FinishedSend {
  readonly pending: PendingSend;
  readonly result: RowSendResult;
}

export class OutboxSender {
  readonly #ports: OutboxSenderPorts;
  readonly #options: Required<Omit<OutboxSenderOptions, "onPoint">>;
  readonly #onPoint: (point: SendPoint) => void;
  readonly #inFlight = new Map<string, Promise<RowSendResult>>();
  readonly #busyGroups = new Set<string>();
  /** Groups that were given up, and how: nothing of theirs leaves before `resume` (C2). */
  readonly #stalled = new Map<string, RowSendResult>();
  #waiting: PendingSend[] = [];
  #batches = 0;
  #places = 0;
  #scheduled = false;

  constructor(ports: OutboxSenderPorts, options: OutboxSenderOptions = {}) {
    this.#ports = ports;
    this.#onPoint = options.onPoint ?? (() => {});
    this.#options = {
      entriesPerGroupMax: options.entriesPerGroupMax ?? 1,
      batchesInFlightMax: options.batchesInFlightMax ?? BATCHES_IN_FLIGHT_MAX,
      attemptsMax: options.attemptsMax ?? SEND_ATTEMPTS_MAX,
    };
  }

  /** Resolves when the row is sent and marked, or given up. Never rejects. */
  send(row: OutboxRow): Promise<RowSendResult> {
    const known = this.#inFlight.get(row.key);
    if (known !== undefined) return known; // C4
    const orderedBy = this.#ports.target.fifo ? row.groupId : null;
    const stalled = orderedBy === null ? undefined : this.#stalled.get(orderedBy);
    if (stalled !== undefined) return Promise.resolve(stalled);
    const { promise, resolve } = Promise.withResolvers<RowSendResult>();
    this.#inFlight.set(row.key, promise);
    this.#places += 1;
    this.#waiting.push({
      row,
      place: this.#places,
      orderedBy,
      bytes: messageBytes(row.body, row.attributes),
      attempts: 0,
      resolve: (result) => {
        this.#inFlight.delete(row.key);
        resolve(result);
      },
    });
    this.#schedule();
    return promise;
  }

  /** Whether a group was given up, so that the outbox holds older rows than the next. */
  get behind(): boolean {
    return this.#stalled.size > 0;
  }

  /** Lets given-up groups go on, for whoever begins with their oldest rows. */
  resume(): void {
    this.#stalled.clear();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight.values());
  }

  /** Waits for the end of the turn, so that rows handed over together leave together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ports.turn.afterTurn(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    const { limits } = this.#ports.target;
    const { entriesPerGroupMax, batchesInFlightMax } = this.#options;
    while (this.#batches < batchesInFlightMax) {
      const bounds = { ...limits, entriesPerGroupMax };
      const chosen = new Set(selectBatch(this.#waiting, this.#busyGroups, bounds));
      if (chosen.size === 0) return;
      const batch = this.#waiting.filter((_, at) => chosen.has(at));
      this.#waiting = this.#waiting.filter((_, at) => !chosen.has(at));
      for (const { orderedBy } of batch) if (orderedBy !== null) this.#busyGroups.add(orderedBy);
      this.#batches += 1;
      void this.#send(batch).finally(() => {
        this.#batches -= 1;
        this.#schedule();
      });
    }
  }

  async #send(batch: readonly PendingSend[]): Promise<void> {
    const { target } = this.#ports;
    this.#onPoint("before-send");
    let outcomes: readonly SendOutcome[] | TidegateError;
    try {
      outcomes = await target.sendBatch(batch.map(({ row }) => messageOf(row, target.fifo)));
    } catch (error) {
      outcomes = asTidegateError(error);
    }
    this.#onPoint("answered");
    const again: PendingSend[] = [];
    const settled: FinishedSend[] = [];
    for (const [at, pending] of batch.entries()) {
      const outcome =
        outcomes instanceof TidegateError ? outcomes : present(outcomes[at], "an answer");
      const result = this.#judge(pending, outcome);
      if (result === null) again.push(pending);
      else settled.push({ pending, result });
    }
    await this.#mark(settled);
    this.#free(batch, again);
    for (const { pending, result } of settled) {
      if (result.kind === "unsent") this.#giveUpBehind(pending, result);
    }
    if (again.length > 0) void this.#tryAgain(again);
  }

  /** What became of a pending, or null if it is to be tried again. */
  #judge(pending: PendingSend, outcome: SendOutcome | TidegateError): RowSendResult | null {
    pending.attempts += 1;
    const mayTryAgain = pending.attempts < this.#options.attemptsMax;
    if (outcome instanceof TidegateError) {
      return outcome.retry === "later" && mayTryAgain ? null : { kind: "unsent", error: outcome };
    }
    switch (outcome.kind) {
      case "sent":
        return outcome;
      case "refused": {
        const { code, message } = outcome;
        const reason = `${this.#ports.target.name} refused the message: ${code}: ${message}`;
        if (outcome.retry === "never") {
          return { kind: "refused", error: new TidegateError("TG_MESSAGE_REFUSED", reason) }; // C3
        }
        if (mayTryAgain) return null;
        return { kind: "unsent", error: new TidegateError("TG_QUEUE_UNAVAILABLE", reason) };
      }
      default:
        return unreachable(outcome);
    }
  }

  /** Tells the outbox, then whoever waits (C1). A mark that fails leaves the row pending. */
  async #mark(settled: readonly FinishedSend[]): Promise<void> {
    const { outbox, target } = this.#ports;
    const sent: SentMark[] = [];
    const refused: RefusedMark[] = [];
    for (const { pending, result } of settled) {
      const { key, epoch } = pending.row;
      if (result.kind === "sent") sent.push({ key, epoch, messageId: result.messageId });
      if (result.kind === "refused") refused.push({ key, epoch, reason: result.error.message });
    }
    try {
      if (sent.length > 0) await outbox.markSent(target.name, sent);
      if (refused.length > 0) await outbox.markRefused(target.name, refused);
    } catch (error) {
      const fault = asTidegateError(error);
      for (const { pending, result } of settled) {
        pending.resolve(result.kind === "sent" ? { kind: "unsent", error: fault } : result);
      }
      return;
    }
    this.#onPoint("marked");
    for (const { pending, result } of settled) pending.resolve(result);
  }

  #free(batch: readonly PendingSend[], again: readonly PendingSend[]): void {
    const kept = new Set(again.map(({ orderedBy }) => orderedBy));
    for (const { orderedBy } of batch) {
      if (orderedBy !== null && !kept.has(orderedBy)) this.#busyGroups.delete(orderedBy);
    }
  }

  /** Puts sends back in their places after a pause in which their groups stand still (C2). */
  async #tryAgain(sends: readonly PendingSend[]): Promise<void> {
    const { clock, random } = this.#ports;
    const attempt = Math.max(...sends.map(({ attempts }) => attempts));
    await clock.sleep(backoffMs(attempt, random));
    for (const { orderedBy } of sends) if (orderedBy !== null) this.#busyGroups.delete(orderedBy);
    this.#waiting = [...this.#waiting, ...sends].sort((a, b) => a.place - b.place);
    this.#schedule();
  }

  #giveUpBehind({ orderedBy }: PendingSend, result: RowSendResult): void {
    if (orderedBy === null) return;
    this.#stalled.set(orderedBy, result);
    const behind = this.#waiting.filter((pending) => pending.orderedBy === orderedBy);
    this.#waiting = this.#waiting.filter((pending) => pending.orderedBy !== orderedBy);
    for (const pending of behind) pending.resolve(result); // C2
  }
}

function messageOf(row: OutboxRow, fifo: boolean): OutgoingMessage {
  const { body, attributes, groupId } = row;
  return { body, attributes, groupId, dedupId: fifo ? dedupIdOf(row) : null };
}

/** What a port threw; anything but a TidegateError is a fault nobody foresaw, and may pass. */
function asTidegateError(error: unknown): TidegateError {
  if (error instanceof TidegateError) return error;
  const message = `sending failed: ${reasonOf(error)}`;
  return new TidegateError("TG_QUEUE_UNAVAILABLE", message, { cause: error });
}
