// Producer: sends every event once, as far as a sender can, and reports when it was sent before.
//   S1. An event is registered before it is sent, and marked after the target's answer. If anything
//       fails in between, the row remains; the next send of the event, or a relay, sends it.
//   S2. An event that breaks the contract, or reuses a key for another payload, is rejected and
//       counted before anything is sent.
//   S3. Memory is bounded: `send` waits while the limits of the options are reached.
//   S4. Older rows first: pending rows of this producer, or of its previous process, are sent
//       before newer ones.
//   S5. A message has the trace context of the span that created it, or else that of the
//       event. Neither is part of the body or the deduplication id.

import { unreachable } from "../core/assert.ts";
import { utf8ByteLength } from "../core/encoding/text.ts";
import { refuseConfig, TidegateError } from "../core/errors.ts";
import { SQS_DEDUP_WINDOW_MS } from "../core/limits.ts";
import { addMs, durationMs, type EpochMs, msBetween } from "../core/units.ts";
import type { Objects } from "../ports/objects/objects.ts";
import type { OutboxLease, RegisterResult } from "../ports/outbox.ts";
import type { Span } from "../ports/telemetry.ts";
import { type Backlog, sendBacklog } from "./backlog.ts";
import { Capacity } from "./capacity.ts";
import { type ClaimCheckLocation, putPayload } from "./claim-check.ts";
import type { GroupStrategy } from "./group-strategy.ts";
import { METRICS } from "./metrics.ts";
import { OutboxPurge } from "./outbox-purge.ts";
import {
  OutboxSender,
  type OutboxSenderOptions,
  type OutboxSenderPorts,
  type RowSendResult,
} from "./outbox-sender.ts";
import {
  type EventInput,
  type OwnMessage,
  type Prepared,
  prepare,
  type SendContext,
  violation,
} from "./prepare.ts";
import { safeTelemetry } from "./safe-telemetry.ts";
import { createSpan } from "./send-spans.ts";
import { SEND_LEASE_MS } from "./target.ts";

export interface ProducerPorts extends OutboxSenderPorts {
  readonly objects?: Objects;
}

export interface ProducerOptions extends OutboxSenderOptions {
  /**
   * Names this producer in the outbox. Use a name that survives a restart and that no other
   * process has: pending rows of the previous process are then sent immediately. Default: random.
   */
  readonly owner?: string;
  /** Required for FIFO targets; on standard queues it sets fairness between groups. */
  readonly groups?: GroupStrategy;
  /** The pipeline that consumes own messages; required to send them. */
  readonly pipeline?: string;
  /** Bucket for payloads that are too large for the target; needs `objects`. */
  readonly claimCheck?: ClaimCheckLocation;
  /** Events in flight before `send` waits (S3). Default: 1000. */
  readonly inFlightMax?: number;
  /** Default: 16 MiB. */
  readonly inFlightBytesMax?: number;
  /**
   * Whether each event has its own span (S5). Without it, a message has the context of the event,
   * and only requests are spans. Default: true.
   */
  readonly createSpans?: boolean;
}

/** How `send` ended; anything else is thrown. */
export type SendResult =
  | { readonly kind: "sent"; readonly messageId: string; readonly sequenceNumber: string | null }
  /** Sent before, by any producer with this outbox; nothing was sent now. */
  | { readonly kind: "already-sent"; readonly messageId: string; readonly sentAt: EpochMs };

/** Sends events once, by way of an outbox. */
export interface Producer {
  /** Resolves once the target has the event and the row is marked; throws a TidegateError. */
  send(event: EventInput | OwnMessage, context?: SendContext): Promise<SendResult>;
  /** Waits for events in flight; later sends are rejected. Ports stay open. */
  close(): Promise<void>;
}

interface Item {
  readonly prepared: Prepared;
  waits: number;
  resolve(result: SendResult): void;
  reject(error: unknown): void;
}

const IN_FLIGHT_MAX_DEFAULT = 1_000;
const IN_FLIGHT_BYTES_MAX_DEFAULT = 16 * 1_048_576;
/** Rows registered in one transaction. */
const REGISTER_MAX = 100;
/** Waits for another process that is sending the same event. */
const BUSY_WAITS_MAX = 10;
/** Unsent keys that one round looks up. */
const UNSENT_CHECKED_MAX = 100;
/** How long to wait for an older row of the same group that another process is sending. */
const GROUP_WAIT_MS = durationMs(1_000);

export function createProducer(ports: ProducerPorts, options: ProducerOptions = {}): Producer {
  checkOptions(ports, options);
  return new OutboxProducer(ports, options);
}

class OutboxProducer implements Producer {
  readonly #ports: ProducerPorts;
  readonly #options: ProducerOptions;
  readonly #sender: OutboxSender;
  readonly #capacity: Capacity;
  readonly #lease: OutboxLease;
  readonly #purge: OutboxPurge;
  readonly #creates: boolean;
  #intake: Item[] = [];
  #working: Promise<void> | null = null;
  #behind = true; // There may be rows of a previous process (S4).
  /** Keys whose rows are, or may be, pending: nothing newer is sent before them. */
  readonly #unsent = new Set<string>();
  #closed = false;
  /** Start of this producer; null once all older rows are sent. */
  #bornAt: EpochMs | null;

  constructor(ports: ProducerPorts, options: ProducerOptions) {
    const telemetry = safeTelemetry(ports.telemetry);
    this.#ports = { ...ports, ...(telemetry !== undefined && { telemetry }) };
    this.#options = options;
    this.#bornAt = ports.clock.now();
    this.#sender = new OutboxSender(ports, options);
    this.#purge = new OutboxPurge(ports);
    this.#creates = options.createSpans ?? true;
    this.#capacity = new Capacity({
      countMax: options.inFlightMax ?? IN_FLIGHT_MAX_DEFAULT,
      bytesMax: options.inFlightBytesMax ?? IN_FLIGHT_BYTES_MAX_DEFAULT,
    });
    this.#lease = { owner: options.owner ?? ports.random.uuid(), leaseMs: SEND_LEASE_MS };
  }

  async send(event: EventInput | OwnMessage, context: SendContext = {}): Promise<SendResult> {
    if (this.#closed) throw new TidegateError("TG_CLOSED", "the producer is closed");
    const { target, telemetry } = this.#ports;
    const span = this.#creates ? createSpan(telemetry, target, event, context) : undefined;
    try {
      const result = await this.#sendWithin(span, event, context);
      span?.end();
      return result;
    } catch (error) {
      span?.end({ errorType: error instanceof TidegateError ? error.code : "unknown" });
      throw error;
    }
  }

  async #sendWithin(
    span: Span | undefined,
    event: EventInput | OwnMessage,
    context: SendContext,
  ): Promise<SendResult> {
    const { target, telemetry } = this.#ports;
    const { groups = null, claimCheck = null, pipeline = null } = this.#options;
    const { attributes = {} } = context;
    const traced = span?.context ? { ...event, trace: span.context } : event; // S5
    const sentContext = span?.context ? { attributes } : context;
    const prepared = prepare(traced, sentContext, { target, groups, claimCheck, pipeline });
    if (prepared.kind === "invalid") {
      const field = prepared.problems[0]?.path || "message";
      telemetry?.count(METRICS.violations, 1, { field });
      throw violation(prepared); // S2
    }
    const { entry, bytes, object } = prepared.value;
    const heldBytes = bytes + (object?.bytes.byteLength ?? 0);
    await this.#capacity.enter(heldBytes); // S3
    try {
      const result = await this.#enqueue(prepared.value);
      if (result.kind === "sent") telemetry?.record(METRICS.bodyBytes, utf8ByteLength(entry.body));
      return result;
    } finally {
      this.#capacity.leave(heldBytes);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#capacity.empty();
    await this.#purge.close();
  }

  #enqueue(prepared: Prepared): Promise<SendResult> {
    const { promise, resolve, reject } = Promise.withResolvers<SendResult>();
    this.#intake.push({ prepared, waits: 0, resolve, reject });
    this.#work();
    return promise;
  }

  /** Starts a round unless one is running; events of one turn share a round. */
  #work(): void {
    if (this.#working !== null) return;
    const turn = new Promise<void>((resolve) => this.#ports.turn.afterTurn(resolve));
    this.#working = turn
      .then(async () => {
        while (this.#intake.length > 0) await this.#process(this.#intake.splice(0, REGISTER_MAX));
        this.#purge.startIfDue();
      })
      .finally(() => {
        this.#working = null;
        if (this.#intake.length > 0) this.#work();
      });
  }

  async #process(chunk: readonly Item[]): Promise<void> {
    const { outbox, target } = this.#ports;
    const items = await this.#putPayloads(chunk);
    try {
      this.#options.onPoint?.("before-register");
      const entries = items.map(({ prepared }) => prepared.entry);
      const results = await outbox.register(target.name, entries, this.#lease); // S1
      this.#options.onPoint?.("registered");
      const backlog = await this.#catchUp();
      for (const [at, item] of items.entries()) this.#answer(item, results[at], backlog);
    } catch (error) {
      for (const item of items) this.#failUnsent(item, error); // It may be registered (S4).
    }
  }

  /** Stores large payloads; an event whose payload cannot be stored fails alone. */
  async #putPayloads(chunk: readonly Item[]): Promise<Item[]> {
    const { objects } = this.#ports;
    const put = await Promise.all(
      chunk.map(async (item) => {
        const { object } = item.prepared;
        if (object === null || objects === undefined) return item;
        try {
          this.#options.onPoint?.("before-put");
          await putPayload(objects, object);
          this.#options.onPoint?.("put");
          return item;
        } catch (error) {
          item.reject(error);
          return null;
        }
      }),
    );
    return put.filter((item) => item !== null);
  }

  /** Sends pending rows, including those just registered (S4). */
  async #catchUp(): Promise<Backlog | null> {
    if (!this.#behind && !this.#sender.behind && this.#unsent.size === 0) return null;
    const backlog = await sendBacklog(this.#ports, this.#sender, this.#lease);
    this.#behind = backlog.failed !== null || (await this.#mayHaveOlderRows());
    await this.#forgetSent();
    return backlog;
  }

  /** Whether rows older than this producer are pending: some may be its own. */
  async #mayHaveOlderRows(): Promise<boolean> {
    if (this.#bornAt === null) return false;
    const { outbox, target } = this.#ports;
    const { oldestPendingAt } = await outbox.stats(target.name);
    if (oldestPendingAt !== null && oldestPendingAt <= this.#bornAt) return true;
    this.#bornAt = null;
    return false;
  }

  /** Forgets keys whose rows have been sent since, by this producer or a relay. */
  async #forgetSent(): Promise<void> {
    const { outbox, target } = this.#ports;
    for (const key of [...this.#unsent].slice(0, UNSENT_CHECKED_MAX)) {
      const row = await outbox.find(target.name, key);
      if (row?.state !== "pending") this.#unsent.delete(key);
    }
  }

  #failUnsent({ prepared, reject }: Item, error: unknown): void {
    this.#unsent.add(prepared.entry.key);
    reject(error);
  }

  #answer(item: Item, result: RegisterResult | undefined, backlog: Backlog | null): void {
    switch (result?.kind) {
      case "taken": {
        const earlier = backlog?.results.get(result.row.key) ?? backlog?.failed;
        if (earlier) this.#finish(item, earlier);
        else if (backlog !== null) void this.#waitForGroup(item);
        else void this.#sender.send(result.row).then((each) => this.#finish(item, each));
        return;
      }
      case "sent":
        this.#resolveAlreadySent(item, result);
        return;
      case "busy":
        void this.#waitFor(item, result.until);
        return;
      case "conflict":
        item.reject(this.#conflict(item));
        return;
      case undefined:
        item.reject(new TidegateError("TG_OUTBOX_UNAVAILABLE", "the outbox returned no result"));
        return;
      default:
        unreachable(result);
    }
  }

  #finish(item: Item, result: RowSendResult): void {
    switch (result.kind) {
      case "sent":
        item.resolve(result);
        return;
      case "unsent":
        this.#behind = true;
        this.#failUnsent(item, result.error);
        return;
      case "refused":
        item.reject(result.error);
        return;
      default:
        unreachable(result);
    }
  }

  #resolveAlreadySent(
    item: Item,
    { sentAt, messageId }: { sentAt: EpochMs; messageId: string },
  ): void {
    const { clock, telemetry } = this.#ports;
    if (msBetween(sentAt, clock.now()) < SQS_DEDUP_WINDOW_MS) telemetry?.count(METRICS.windowHits);
    item.resolve({ kind: "already-sent", messageId, sentAt });
  }

  #conflict({ prepared }: Item): TidegateError {
    const { telemetry } = this.#ports;
    telemetry?.count(METRICS.collisions);
    telemetry?.count(METRICS.violations, 1, { field: "/dedupe_key" });
    const message = `the dedupe_key of ${prepared.entry.key} was already used with another payload`;
    return new TidegateError("TG_DEDUPE_KEY_REUSED", message);
  }

  /** An older row of the same group belongs to another producer and must be sent first. */
  async #waitForGroup(item: Item): Promise<void> {
    this.#unsent.add(item.prepared.entry.key);
    await this.#waitFor(item, addMs(this.#ports.clock.now(), GROUP_WAIT_MS));
  }

  /** Another process is sending the event: registers it again when that lease ends. */
  async #waitFor(item: Item, until: EpochMs): Promise<void> {
    const { clock } = this.#ports;
    item.waits += 1;
    if (item.waits > BUSY_WAITS_MAX) {
      const message = "another process holds the lease of this event and does not send it";
      item.reject(new TidegateError("TG_QUEUE_UNAVAILABLE", message));
      return;
    }
    await clock.sleep(durationMs(Math.max(0, msBetween(clock.now(), until))));
    this.#intake.push(item);
    this.#work();
  }
}

function checkOptions(ports: ProducerPorts, options: ProducerOptions): void {
  const { target, objects } = ports;
  if (target.fifo && options.groups === undefined) {
    refuseConfig(
      `${target.name} is FIFO and needs a group strategy: set groups (perEntity, fixedGroups, ...)`,
    );
  }
  if (options.claimCheck !== undefined && objects === undefined) {
    refuseConfig("claimCheck needs objects: pass createS3Objects({ client })");
  }
  const limits = ["inFlightMax", "inFlightBytesMax", "entriesPerGroupMax", "attemptsMax"] as const;
  for (const name of limits) {
    const value = options[name] ?? 1;
    if (!Number.isInteger(value) || value < 1)
      refuseConfig(`${name} is ${value}; it must be a whole number above zero`);
  }
}
