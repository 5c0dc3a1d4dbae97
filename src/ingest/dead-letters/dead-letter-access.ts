// Dead-letter access: lists, redrives and drops the dead letters of one pipeline.
//   A1. Listing reads the ledger only, unless it is asked to look into the queue; a redrive or drop
//       opens ledger and queues when its first step is asked for.
//   A2. If neither the caller nor a dossier names a queue, redrive and drop do nothing.

import { type Progress, progressOf } from "../../core/progress.ts";
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
  readonly class?: string | undefined;
  /** The fingerprint, or at least its first 4 characters. */
  readonly fingerprint?: string | undefined;
  /**
   * A record key, or at least its first 11 characters, any part of `s3://bucket/key`, or the whole
   * business key of an own message.
   */
  readonly key?: string | undefined;
  /** Only records with one of these record or event keys. */
  readonly keys?: ReadonlySet<string> | undefined;
  /** Failed longer ago than this. */
  readonly olderThanMs?: number | undefined;
  /** Failed at most this long ago. */
  readonly newerThanMs?: number | undefined;
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
  /** Its copies in the dead-letter queue; null if the queue was not read. */
  readonly copies: number | null;
  /** The failure report, masked; null if only the queue has the message. */
  readonly dossier: Dossier | null;
}

/** Options of `redrive`. */
export interface RedriveRequest {
  /** Reports what would be redriven and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Dead letters to redrive at most. Default: 100,000. */
  readonly limit?: number | undefined;
  /** Messages sent per second. Default: 10. */
  readonly perSecond?: number | undefined;
  /** How long a redrive follows each record. Default: 2 minutes. */
  readonly followMs?: number | undefined;
  /** Stops once this many records, and more than this share of all, have failed again. */
  readonly stop?: { readonly failuresMin: number; readonly failedShareMax: number };
  /** Stops after the current dead letter. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `drop`. */
export interface DropRequest {
  /** Reports what would be dropped and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Dead letters to drop at most. Default: 100,000. */
  readonly limit?: number | undefined;
  /** Stops after the current dead letter. */
  readonly signal?: AbortSignal | undefined;
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

/** Options of `list`. */
export interface DeadLetterListRequest {
  /** Also reads the dead-letter queue, which hides its messages for a while. */
  readonly peek?: boolean | undefined;
}

/** Lists, redrives and drops dead letters. */
export interface DeadLetterAccess {
  /** Lists dead letters, the newest failure first. */
  list(
    filter?: DeadLetterSelection,
    request?: DeadLetterListRequest,
  ): AsyncIterable<DeadLetterEntry>;
  /** Sends dead letters back to their queue and follows each until it ends. */
  redrive(
    filter?: DeadLetterSelection,
    request?: RedriveRequest,
  ): Progress<RedriveEvent, RedriveSummary>;
  /** Deletes dead letters and their dossiers permanently. */
  drop(filter?: DeadLetterSelection, request?: DropRequest): Progress<DropEvent, DropSummary>;
}

export interface DeadLetterQueues {
  readonly queue: Queue;
  /** Null where dead letters stay in the source queue. */
  readonly deadLetters: Queue | null;
}

/** Where dead letters are found; opened when it is first needed (A1). */
export interface DeadLetterSources {
  readonly clock: Clock;
  readonly random: Random;
  /** The ledger, for reading. */
  reader(): Promise<Ledger>;
  /** The ledger, for an action. */
  writer(): Promise<Ledger>;
  /** The pipelines whose dead letters are listed. */
  scopes(): Promise<readonly LedgerScope[]>;
  /** The only pipeline with notes of that kind; throws if there are several. */
  scope(about?: "dossier"): Promise<LedgerScope>;
  /** How the pipeline reads own messages; null if it is not known or has none. */
  own(): Promise<OwnDecoding | null>;
  /** Resolves to null if no queue is named anywhere (A2). */
  queues(): Promise<DeadLetterQueues | null>;
}

export function createDeadLetterAccess(sources: DeadLetterSources): DeadLetterAccess {
  const { clock, random } = sources;
  return {
    async *list(filter = {}, { peek = false } = {}) {
      const [ledger, own] = await Promise.all([sources.reader(), sources.own()]);
      const scopes = peek ? [await sources.scope("dossier")] : await sources.scopes();
      const queue = peek ? ((await sources.queues())?.deadLetters ?? undefined) : undefined;
      for (const scope of scopes) {
        const request = { scope, own, filter: filterOf(filter) };
        const deadLetters = await listDeadLetters({ clock, ledger, queue }, request);
        for (const deadLetter of deadLetters) yield entryOf(deadLetter);
      }
    },
    redrive(filter = {}, { followMs, ...request } = {}) {
      let summary = emptySummary();
      async function* run(): AsyncGenerator<RedriveEvent, void> {
        const [ledger, scope, own] = await opened(sources);
        const queues = await sources.queues();
        if (queues === null) return; // A2
        const { queue: source, deadLetters } = queues;
        const redrive = new Redrive(
          { clock, random, ledger, source, deadLetters: deadLetters ?? source },
          {
            ...request,
            scope,
            own,
            filter: filterOf(filter),
            ownQueueOnly: deadLetters === null,
            followMs: followMs === undefined ? undefined : durationMs(followMs),
          },
        );
        summary = redrive.summary;
        yield* redrive;
      }
      return progressOf(run(), () => summary);
    },
    drop(filter = {}, request = {}) {
      const counts = { planned: 0, dropped: 0, skipped: 0 };
      async function* run(): AsyncGenerator<DropEvent, void> {
        const [ledger, scope, own] = await opened(sources);
        const queues = await sources.queues();
        if (queues === null) return; // A2
        const { queue, deadLetters } = queues;
        const events = dropDeadLetters(
          { clock, ledger, deadLetters, source: queue },
          { ...request, scope, own, source: queue.name, filter: filterOf(filter) },
        );
        for await (const event of events) {
          counts[event.kind] += 1;
          yield event;
        }
      }
      return progressOf(run(), () => counts);
    },
  };
}

function opened(sources: DeadLetterSources): Promise<[Ledger, LedgerScope, OwnDecoding | null]> {
  return Promise.all([sources.writer(), sources.scope("dossier"), sources.own()]);
}

function filterOf(selection: DeadLetterSelection): DeadLetterFilter {
  const { class: errorClass, fingerprint, key, keys, olderThanMs, newerThanMs } = selection;
  return {
    errorClass,
    fingerprint,
    key,
    keys,
    olderThanMs: olderThanMs === undefined ? undefined : durationMs(olderThanMs),
    newerThanMs: newerThanMs === undefined ? undefined : durationMs(newerThanMs),
  };
}

/** A dead letter as programs and commands see it. */
export function entryOf(deadLetter: ListedDeadLetter): DeadLetterEntry {
  const { scope, key, errorClass, fingerprint, message, state, failedAt, objects, dossier } =
    deadLetter;
  const { haltedGroup, copies } = deadLetter;
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
    copies,
    dossier,
  };
}
