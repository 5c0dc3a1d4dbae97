// Dead-letter access: lists, redrives and drops the dead letters of one pipeline, for programs.
//   A1. Listing reads the ledger only; the queues are opened by the first redrive or drop.
//   A2. If neither the caller nor a dossier names a queue, redrive and drop do nothing.

import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DeadLetterFilter } from "../policy/dead-letter-filter.ts";
import type { OwnDecoding } from "../spec/own-source.ts";
import {
  type LedgerState,
  type DeadLetter as ListedDeadLetter,
  listDeadLetters,
} from "./dead-letter-list.ts";
import type { Dossier } from "./dossier.ts";
import { type DropEvent, dropDeadLetters } from "./drop-dead-letters.ts";
import { Redrive } from "./redrive.ts";
import { emptySummary, type RedriveEvent, type RedriveSummary } from "./redrive-events.ts";

/** Selects dead letters; every field that is set must match. An empty filter matches all. */
export interface DeadLetterSelection {
  /** The error class, such as "schema". */
  readonly class?: string;
  /** The fingerprint, or at least its first 4 characters. */
  readonly fingerprint?: string;
  /**
   * A record key, or at least its first 11 characters, any part of `s3://bucket/key`, or the whole
   * business key of an own message.
   */
  readonly key?: string;
  /** Failed longer ago than this. */
  readonly olderThanMs?: number;
  /** Failed at most this long ago. */
  readonly newerThanMs?: number;
}

/** A dead letter as the ledger describes it. */
export interface DeadLetterEntry {
  readonly pipeline: string;
  readonly generation: number;
  /** The record key in the ledger. */
  readonly key: string;
  /** The error class, such as "schema". */
  readonly class: string;
  /** The same for all failures of one cause. */
  readonly fingerprint: string;
  /** The error's message, masked. */
  readonly message: string;
  /** The ledger's state of the record: "parked" until it is redriven. */
  readonly state: LedgerState;
  /** Milliseconds since 1970. */
  readonly failedAt: number;
  /** The failed object as `s3://bucket/key`. */
  readonly object: string | null;
  /** The FIFO group that waits behind it; null if none does. */
  readonly haltedGroup: string | null;
  /** The business key of a message, masked; null for objects and messages without a key. */
  readonly businessKey: string | null;
  /** The failure report, masked; null if only the queue has the message. */
  readonly dossier: Dossier | null;
}

/** Options of `redrive`. */
export interface RedriveRequest {
  /** Reports what would be redriven and changes nothing. */
  readonly dryRun?: boolean;
  /** Dead letters to redrive at most. Default: 100,000. */
  readonly limit?: number;
  /** Messages sent per second. Default: 10. */
  readonly perSecond?: number;
  /** How long a redrive follows each record. Default: 2 minutes. */
  readonly followMs?: number;
  /** Stops once this many records, and more than this share of all, have failed again. */
  readonly stop?: { readonly failuresMin: number; readonly failedShareMax: number };
  /** Stops after the current dead letter. */
  readonly signal?: AbortSignal;
  /** Called for every step of every dead letter, for progress reports. */
  readonly onEvent?: (event: RedriveEvent) => void;
}

/** Options of `drop`. */
export interface DropRequest {
  /** Reports what would be dropped and changes nothing. */
  readonly dryRun?: boolean;
  /** Dead letters to drop at most. Default: 100,000. */
  readonly limit?: number;
  /** Stops after the current dead letter. */
  readonly signal?: AbortSignal;
  /** Called for every dead letter, for progress reports. */
  readonly onEvent?: (event: DropEvent) => void;
}

/** What a drop did. A dry run drops nothing. */
export interface DropSummary {
  /** Dead letters that a dry run would have dropped. */
  readonly planned: number;
  /** Includes messages that wait in their own queue and are acknowledged on the next delivery. */
  readonly dropped: number;
  /** Not dropped: redriven meanwhile, or not visible in the queue. */
  readonly skipped: number;
}

export interface DeadLetters {
  /** Lists dead letters from the ledger, the newest failure first. */
  list(filter?: DeadLetterSelection): AsyncIterable<DeadLetterEntry>;
  /** Sends dead letters back to their queue and follows each until it ends. */
  redrive(filter?: DeadLetterSelection, request?: RedriveRequest): Promise<RedriveSummary>;
  /** Deletes dead letters and their dossiers permanently. */
  drop(filter?: DeadLetterSelection, request?: DropRequest): Promise<DropSummary>;
}

export interface DeadLetterAccessPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
}

export interface DeadLetterQueues {
  readonly queue: Queue;
  /** Null where dead letters stay in the source queue. */
  readonly deadLetters: Queue | null;
}

export function createDeadLetterAccess(
  ports: DeadLetterAccessPorts,
  options: {
    readonly scope: LedgerScope;
    /** How the pipeline reads own messages; null if it is not known or has none. */
    readonly own?: OwnDecoding | null;
    /** Resolves to null if no queue is named anywhere (A2). */
    readonly openQueues: () => Promise<DeadLetterQueues | null>;
  },
): DeadLetters {
  const { clock, ledger } = ports;
  const { scope, own = null } = options;
  let opening: Promise<DeadLetterQueues | null> | null = null;
  const queues = () => {
    opening ??= options.openQueues(); // A1
    return opening;
  };
  return {
    async *list(filter = {}) {
      const request = { scope, filter: filterOf(filter) };
      const deadLetters = await listDeadLetters({ clock, ledger }, request);
      for (const deadLetter of deadLetters) yield entryOf(deadLetter);
    },
    async redrive(filter = {}, request = {}) {
      const opened = await queues();
      if (opened === null) return emptySummary(); // A2
      const { queue: source, deadLetters } = opened;
      const { onEvent = () => {}, followMs, ...rest } = request;
      const run = new Redrive(
        { ...ports, source, deadLetters: deadLetters ?? source },
        {
          ...rest,
          scope,
          own,
          filter: filterOf(filter),
          ownQueueOnly: deadLetters === null,
          followMs: followMs === undefined ? undefined : durationMs(followMs),
        },
      );
      for await (const event of run) onEvent(event);
      return run.summary;
    },
    async drop(filter = {}, request = {}) {
      const counts = { planned: 0, dropped: 0, skipped: 0 };
      const opened = await queues();
      if (opened === null) return counts; // A2
      const { onEvent = () => {}, ...rest } = request;
      const source = opened.queue.name;
      const run = dropDeadLetters(
        { clock, ledger, deadLetters: opened.deadLetters, source: opened.queue },
        { ...rest, scope, own, source, filter: filterOf(filter) },
      );
      for await (const event of run) {
        counts[event.kind] += 1;
        onEvent(event);
      }
      return counts;
    },
  };
}

function filterOf(selection: DeadLetterSelection): DeadLetterFilter {
  const { class: errorClass, fingerprint, key, olderThanMs, newerThanMs } = selection;
  return {
    errorClass,
    fingerprint,
    key,
    olderThanMs: olderThanMs === undefined ? undefined : durationMs(olderThanMs),
    newerThanMs: newerThanMs === undefined ? undefined : durationMs(newerThanMs),
  };
}

function entryOf(deadLetter: ListedDeadLetter): DeadLetterEntry {
  const { scope, key, errorClass, fingerprint, message, state, failedAt, objects, dossier } =
    deadLetter;
  const { haltedGroup } = deadLetter;
  return {
    pipeline: scope.pipeline,
    generation: scope.generation,
    key,
    class: errorClass,
    fingerprint,
    message,
    state,
    failedAt,
    object: objects[0] ?? null,
    haltedGroup,
    businessKey: dossier?.business_key ?? null,
    dossier,
  };
}
