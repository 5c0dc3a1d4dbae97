// Outbox sender: sends registered rows to the target and marks them sent.
//   C1. A row is marked sent only after the target has answered for it.
//   C2. Within a group, a row is sent only after the target has answered for the one before it. A
//       row that is retried keeps its position. If retries are exhausted, all rows behind it fail
//       too: they stay registered, and the relay sends them in order.
//   C3. A row that the target rejects permanently is not retried.
//   C4. A row in flight is not sent a second time: a second caller shares its result.

import { present, unreachable } from "../core/assert.ts";
import { messageBytes } from "../core/encoding/message-size.ts";
import { reasonOf, TidegateError } from "../core/errors.ts";
import { dedupIdOf } from "../ledger/outbox/outbox-transitions.ts";
import type { Clock } from "../ports/clock.ts";
import type { Outbox, OutboxRow, RefusedMark, SentMark } from "../ports/outbox.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type { Random } from "../ports/random.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Turn } from "../ports/turn.ts";
import { type Sendable, selectBatch } from "./batcher.ts";
import { safeTelemetry } from "./safe-telemetry.ts";
import { beginSend } from "./send-spans.ts";
import { BATCHES_IN_FLIGHT_MAX, backoffMs, SEND_ATTEMPTS_MAX, type Target } from "./target.ts";

/** Points at which a test may kill the process. */
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
  /** Receives spans and counts of requests, and log lines. */
  readonly telemetry?: Telemetry;
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
  /** Still registered: nothing is lost, but the target may or may not have the message. */
  | { readonly kind: "unsent"; readonly error: TidegateError };

interface PendingSend extends Sendable {
  readonly row: OutboxRow;
  readonly position: number;
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
  /** Groups whose retries are exhausted, and why: they send nothing before `resume` (C2). */
  readonly #stalled = new Map<string, RowSendResult>();
  #waiting: PendingSend[] = [];
  #batches = 0;
  #positions = 0;
  #scheduled = false;

  constructor(ports: OutboxSenderPorts, options: OutboxSenderOptions = {}) {
    const telemetry = safeTelemetry(ports.telemetry);
    this.#ports = { ...ports, ...(telemetry !== undefined && { telemetry }) };
    this.#onPoint = options.onPoint ?? (() => {});
    this.#options = {
      entriesPerGroupMax: options.entriesPerGroupMax ?? 1,
      batchesInFlightMax: options.batchesInFlightMax ?? BATCHES_IN_FLIGHT_MAX,
      attemptsMax: options.attemptsMax ?? SEND_ATTEMPTS_MAX,
    };
  }

  /** Resolves when the row is sent and marked, or retries are exhausted. Never rejects. */
  send(row: OutboxRow): Promise<RowSendResult> {
    const sending = this.#inFlight.get(row.key);
    if (sending !== undefined) return sending; // C4
    const orderedBy = this.#ports.target.fifo ? row.groupId : null;
    const stalled = orderedBy === null ? undefined : this.#stalled.get(orderedBy);
    if (stalled !== undefined) return Promise.resolve(stalled);
    const { promise, resolve } = Promise.withResolvers<RowSendResult>();
    this.#inFlight.set(row.key, promise);
    this.#positions += 1;
    this.#waiting.push({
      row,
      position: this.#positions,
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

  /** Whether a group is stalled, so that the outbox has older rows than the next one. */
  get behind(): boolean {
    return this.#stalled.size > 0;
  }

  /** Allows stalled groups to send again; the caller must start with their oldest rows. */
  resume(): void {
    this.#stalled.clear();
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight.values());
  }

  /** Waits for the end of the turn, so that rows of one turn share requests. */
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
    const request = beginSend(
      this.#ports,
      target,
      batch.map(({ row }) => row),
    );
    try {
      outcomes = await target.sendBatch(batch.map(({ row }) => messageOf(row, target.fifo)));
    } catch (error) {
      outcomes = asTidegateError(error);
    }
    request?.end(outcomes);
    this.#onPoint("answered");
    const again: PendingSend[] = [];
    const finished: FinishedSend[] = [];
    for (const [at, pending] of batch.entries()) {
      const outcome =
        outcomes instanceof TidegateError ? outcomes : present(outcomes[at], "an outcome");
      const result = this.#judge(pending, outcome);
      if (result === null) again.push(pending);
      else finished.push({ pending, result });
    }
    await this.#mark(finished);
    this.#free(batch, again);
    for (const { pending, result } of finished) {
      if (result.kind === "unsent") this.#stall(pending, result);
    }
    if (again.length > 0) void this.#retry(again);
  }

  /** The result of a send, or null if it is to be retried. */
  #judge(pending: PendingSend, outcome: SendOutcome | TidegateError): RowSendResult | null {
    pending.attempts += 1;
    const mayRetry = pending.attempts < this.#options.attemptsMax;
    if (outcome instanceof TidegateError) {
      return outcome.retry === "later" && mayRetry ? null : { kind: "unsent", error: outcome };
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
        if (mayRetry) return null;
        return { kind: "unsent", error: new TidegateError("TG_QUEUE_UNAVAILABLE", reason) };
      }
      default:
        return unreachable(outcome);
    }
  }

  /** Marks rows in the outbox, then resolves (C1). A mark that fails leaves the row pending. */
  async #mark(finished: readonly FinishedSend[]): Promise<void> {
    const { outbox, target } = this.#ports;
    const sent: SentMark[] = [];
    const refused: RefusedMark[] = [];
    for (const { pending, result } of finished) {
      const { key, epoch } = pending.row;
      if (result.kind === "sent") sent.push({ key, epoch, messageId: result.messageId });
      if (result.kind === "refused") refused.push({ key, epoch, reason: result.error.message });
    }
    try {
      if (sent.length > 0) await outbox.markSent(target.name, sent);
      if (refused.length > 0) await outbox.markRefused(target.name, refused);
    } catch (error) {
      const fault = asTidegateError(error);
      for (const { pending, result } of finished) {
        pending.resolve(result.kind === "sent" ? { kind: "unsent", error: fault } : result);
      }
      return;
    }
    this.#onPoint("marked");
    for (const { pending, result } of finished) pending.resolve(result);
  }

  #free(batch: readonly PendingSend[], again: readonly PendingSend[]): void {
    const retried = new Set(again.map(({ orderedBy }) => orderedBy));
    for (const { orderedBy } of batch) {
      if (orderedBy !== null && !retried.has(orderedBy)) this.#busyGroups.delete(orderedBy);
    }
  }

  /** Requeues sends in their positions after a backoff in which their groups wait (C2). */
  async #retry(sends: readonly PendingSend[]): Promise<void> {
    const { clock, random } = this.#ports;
    const attempt = Math.max(...sends.map(({ attempts }) => attempts));
    await clock.sleep(backoffMs(attempt, random));
    for (const { orderedBy } of sends) if (orderedBy !== null) this.#busyGroups.delete(orderedBy);
    this.#waiting = [...this.#waiting, ...sends].sort((a, b) => a.position - b.position);
    this.#schedule();
  }

  #stall({ orderedBy }: PendingSend, result: RowSendResult): void {
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

/** Any other error of a port is unexpected, and treated as transient. */
function asTidegateError(error: unknown): TidegateError {
  if (error instanceof TidegateError) return error;
  const message = `sending failed: ${reasonOf(error)}`;
  return new TidegateError("TG_QUEUE_UNAVAILABLE", message, { cause: error });
}
