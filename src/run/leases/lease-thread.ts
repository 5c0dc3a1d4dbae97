// Lease thread: a lease renewer in its own thread, with its own connections, so that a handler that
// blocks the event loop keeps its leases.
//   D1. An order to track a lease, or to attach or detach a claim, is sent before the caller
//       continues past its next `await`: a claim that has ended is not renewed. Orders to drop may
//       be late (K3) and share a message with the next order.
//   D2. `alive` sends no message: it compares the expiry on the board with the clock.
//   D3. If the thread ends, for any reason, all leases are lost and reported; `ended` informs the
//       consumer, which must stop receiving (K4).
//   D4. Messages are JSON text: a copy of many small objects costs ten times as much. Only the
//       order to hold has the receipt, which may be long; the slot names the lease in the others.

import { Worker } from "node:worker_threads";
import { type ErrorCode, TidegateError } from "../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { endOf, type Moment, momentOf } from "../../ingest/policy/lease-term.ts";
import type { HeldClaim, HeldLease, LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Fence, LedgerScope, RecordKey } from "../../ports/record.ts";
import type { LogFields, LogLevel, Telemetry } from "../../ports/telemetry.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import { LeaseBoard, newBoardMemory, processClock } from "./lease-board.ts";
import { LeaseSlots } from "./lease-slots.ts";

/** The configuration of the thread, as plain data. */
export interface LeaseThreadConfig {
  readonly queue: {
    readonly queueUrl: string;
    readonly region?: string;
    readonly endpoint?: string;
    /** Default: the SDK finds them. */
    readonly credentials?: {
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly sessionToken?: string;
    };
  };
  /** Null if claims are not renewed. */
  readonly ledgerUrl: string | null;
  /** Default: 45 days. */
  readonly retentionMs?: DurationMs;
  readonly scope: LedgerScope;
  readonly visibilityMs: DurationMs;
  readonly leaseMs: DurationMs;
}

export type LeaseOrder =
  | {
      readonly kind: "hold";
      readonly receipt: string;
      readonly since: EpochMs;
      readonly slot: number;
    }
  | {
      readonly kind: "attach";
      readonly slot: number;
      readonly claim: HeldClaim;
      readonly since: EpochMs;
    }
  | { readonly kind: "detach"; readonly slot: number; readonly claim: HeldClaim }
  | { readonly kind: "drop"; readonly slot: number };

/** What the thread gets, as JSON (D4). */
export type LeaseThreadRequest =
  | { readonly kind: "orders"; readonly number: number; readonly orders: readonly LeaseOrder[] }
  | { readonly kind: "close" };

export type LeaseThreadEvent =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: "lost"; readonly receipt: string; readonly reason: string }
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly message: string;
      readonly fields: LogFields;
    };

export interface LeaseThreadData {
  readonly config: LeaseThreadConfig;
  readonly board: SharedArrayBuffer;
}

const ENTRY = `./lease-thread-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;

/**
 * Starts the thread, and resolves once it is connected. Tests pass another `entry` for a thread that
 * misbehaves.
 */
export async function startLeaseThread(
  ports: { readonly telemetry: Pick<Telemetry, "log"> },
  config: LeaseThreadConfig,
  entry = new URL(ENTRY, import.meta.url),
): Promise<LeaseRenewer> {
  if (config.ledgerUrl !== null && parseStoreUrl(config.ledgerUrl, "ledger").store === "memory") {
    const message = "another thread cannot renew claims of a ledger in memory";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const thread = new LeaseThread(ports.telemetry, config, entry);
  await thread.ready;
  return thread;
}

interface Held {
  readonly slot: number;
  readonly onLost: (reason: string) => void;
  /** The fences of the claims that the thread renews. */
  readonly fences: Map<RecordKey, Fence>;
}

class LeaseThread implements LeaseRenewer {
  readonly ready: Promise<void>;
  readonly ended: Promise<string>;
  readonly #telemetry: Pick<Telemetry, "log">;
  readonly #visibilityMs: DurationMs;
  readonly #worker: Worker;
  readonly #board: LeaseBoard;
  readonly #slots = new LeaseSlots();
  readonly #held = new Map<string, Held>();
  readonly #exited: Promise<void>;
  #started: (error: Error | null) => void = () => {};
  #resolveEnded: (reason: string) => void = () => {};
  #orders: LeaseOrder[] = [];
  /** The number of the last message that was sent. */
  #sent = 0;
  #flushing: "now" | "later" | null = null;
  #ended: string | null = null;
  #closing = false;

  constructor(telemetry: Pick<Telemetry, "log">, config: LeaseThreadConfig, entry: URL) {
    this.#telemetry = telemetry;
    this.#visibilityMs = config.visibilityMs;
    const memory = newBoardMemory();
    this.#board = new LeaseBoard(memory);
    const workerData: LeaseThreadData = { config, board: memory };
    this.#worker = new Worker(entry, { workerData });
    this.ready = new Promise((resolve, reject) => {
      this.#started = (error) => (error === null ? resolve() : reject(error));
    });
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#exited = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    this.#worker.on("message", (event: LeaseThreadEvent) => this.#receive(event));
    this.#worker.on("error", (error: unknown) => {
      this.#end(`the lease thread failed: ${(error as Error)?.message ?? error}`);
    });
    this.#worker.on("exit", () => this.#end("the lease thread ended"));
  }

  track({ receipt, since }: HeldLease, onLost: (reason: string) => void): void {
    if (this.#ended !== null) {
      const reason = this.#ended;
      queueMicrotask(() => onLost(reason)); // D3
      return;
    }
    const slot = this.#slots.take(this.#board.worked);
    const from = momentOf(since, now());
    this.#board.write(slot, endOf({ from, spanMs: this.#visibilityMs }));
    this.#held.set(receipt, { slot, onLost, fences: new Map() });
    this.#order({ kind: "hold", receipt, since, slot }, "now");
  }

  attach(receipt: string, claim: HeldClaim, since: EpochMs): void {
    const held = this.#held.get(receipt);
    if (held === undefined) return;
    held.fences.set(claim.key, claim.fence);
    this.#order({ kind: "attach", slot: held.slot, claim, since }, "now");
  }

  detach(receipt: string, claim: HeldClaim): void {
    const held = this.#held.get(receipt);
    if (held?.fences.get(claim.key) !== claim.fence) return; // Detached before, or never attached.
    held.fences.delete(claim.key);
    this.#order({ kind: "detach", slot: held.slot, claim }, "now");
  }

  release(receipt: string): void {
    const held = this.#held.get(receipt);
    if (held !== undefined) this.#drop(receipt, held);
  }

  alive(receipt: string): boolean {
    const held = this.#held.get(receipt);
    return held !== undefined && !this.#board.isOver(held.slot, now()); // D2
  }

  async close(): Promise<void> {
    if (!this.#closing && this.#ended === null) {
      this.#flush();
      this.#post({ kind: "close" });
    }
    this.#closing = true;
    this.#worker.ref();
    await this.#exited;
  }

  #order(order: LeaseOrder, when: "now" | "later"): void {
    this.#orders.push(order);
    if (this.#flushing === "now" || this.#flushing === when) return;
    this.#flushing = when;
    const flush = () => this.#flush();
    if (when === "now")
      queueMicrotask(flush); // D1
    else setImmediate(flush);
  }

  #flush(): void {
    this.#flushing = null;
    if (this.#orders.length === 0) return;
    this.#sent += 1;
    const orders = this.#orders;
    this.#orders = [];
    this.#post({ kind: "orders", number: this.#sent, orders });
  }

  #post(request: LeaseThreadRequest): void {
    if (this.#ended === null) this.#worker.postMessage(JSON.stringify(request)); // D4
  }

  /** The slot is free once the thread has processed the message with this order. */
  #drop(receipt: string, { slot }: Held): void {
    this.#held.delete(receipt);
    this.#slots.free(slot, this.#sent + 1);
    this.#order({ kind: "drop", slot }, "later");
  }

  #receive(event: LeaseThreadEvent): void {
    switch (event.kind) {
      case "ready":
        this.#worker.unref(); // The consumer keeps the process running, not the thread.
        this.#started(null);
        return;
      case "failed":
        this.#closing = true;
        this.#started(new TidegateError(event.code, event.message));
        return;
      case "lost":
        this.#lose(event.receipt, event.reason);
        return;
      case "log":
        this.#telemetry.log(event.level, event.message, event.fields);
    }
  }

  #lose(receipt: string, reason: string): void {
    const held = this.#held.get(receipt);
    if (held === undefined) return; // Already dropped.
    this.#drop(receipt, held);
    held.onLost(reason);
  }

  #end(reason: string): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#started(new TidegateError("TG_LEASE_RENEWAL_STOPPED", reason));
    if (this.#closing) return;
    this.#telemetry.log("error", `${reason}; ${this.#held.size} leases lost`);
    for (const receipt of [...this.#held.keys()]) this.#lose(receipt, reason); // D3
    this.#resolveEnded(reason);
  }
}

function now(): Moment {
  return { wall: processClock.now(), steady: processClock.monotonic() };
}
