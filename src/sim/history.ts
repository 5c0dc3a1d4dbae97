// History: what the broker, the ledger, the sink and the bucket did. Checkers read nothing else.
//   Y1. An event is added where and when its effect happens, whether or not a process gets the
//       response.
//   Y2. `name` is the workload's name of a record (e17), `actor` a process (consumer-2).

import type { AbsenceCause } from "../replay/archived-messages.ts";
import type { HiddenBy } from "./hidden-value.ts";
import type { TableEvent } from "./tables/table-events.ts";

export interface WaitingMessage {
  readonly name: string;
  readonly where: "queue" | "dead-letters" | "late-queue" | "outbox" | "held";
}

/** What an audit says about an object; `name` is the change that put it, if one is known. */
export interface AuditFinding {
  readonly object: string;
  readonly name: string | null;
  readonly status: string;
  /** Whether the line is about an effect of the sink, not about an object version. */
  readonly ofSink: boolean;
}

/** The sink has an effect of the object, and the ledger does not have its record. */
export interface StrayEffect {
  readonly object: string;
  readonly name: string;
}

/** A lane and the watermark that decided it. */
export interface SimLane {
  readonly lane: string;
  readonly watermark: number | null;
}

/** What a handler's context answered. */
export interface DrawnValues {
  readonly now: number;
  readonly random: number;
  readonly uuid: string;
}

type Event =
  /** The source system has the record; `eventTime` is when it happened. */
  | { readonly kind: "timed"; readonly name: string; readonly eventTime: number }
  /** The producer's row is in the outbox: from here on, the record must not be lost. */
  | { readonly kind: "registered"; readonly name: string; readonly group: string | null }
  /** A sweeper won the next epoch of a sent job, whose message gets a new deduplication id. */
  | { readonly kind: "republished"; readonly name: string; readonly epoch: number }
  /** The queue accepted the message, or recognised it as a duplicate. */
  | {
      readonly kind: "sent";
      readonly name: string;
      readonly messageId: string;
      readonly dedupId: string | null;
      readonly group: string | null;
    }
  | {
      readonly kind: "dead-letter";
      readonly name: string;
      readonly messageId: string;
      /** Fence of the attempt that parked the record. */
      readonly fence: number;
    }
  | {
      readonly kind: "delivered";
      readonly names: readonly string[];
      readonly messageId: string;
      readonly receipt: string;
      readonly receiveCount: number;
      /** Set if the message is a redriven dead letter; null for all others. */
      readonly deadLetter: { readonly name: string; readonly fence: number } | null;
    }
  | {
      readonly kind: "claimed";
      readonly name: string;
      readonly fence: number;
      readonly attempt: number;
      /** What the stored input says that the record is: its dedupe key, or object and sequencer. */
      readonly input?: string | null;
      /** The decision that the ledger returned. */
      readonly lane: SimLane;
      /** The event time that the ledger returned. */
      readonly eventTime?: number;
    }
  /** The ledger was asked whether it has the record. */
  | { readonly kind: "checked"; readonly name: string; readonly exists: boolean }
  /** The ledger rejected a claim or a commit. */
  | { readonly kind: "refused"; readonly name: string; readonly why: string }
  | {
      readonly kind: "handling";
      readonly name: string;
      readonly attempt: number;
      readonly fence: number | null;
      readonly lane: SimLane;
    }
  /** A handler asked its context for the time and for random values. */
  | {
      readonly kind: "drew";
      readonly name: string;
      readonly fence: number | null;
      /** Whether a replay of the record ran the handler; its claims are not in the history. */
      readonly replayed: boolean;
      readonly values: DrawnValues;
    }
  | {
      readonly kind: "effect";
      readonly name: string;
      readonly sink: "transactional" | "idempotent";
      readonly fence: number;
      /** False: the sink has a newer effect and ignored this one. */
      readonly accepted: boolean;
      readonly value: string;
      readonly object: string | null;
      readonly sequencer: string | null;
    }
  | {
      readonly kind: "committed";
      readonly name: string;
      readonly fence: number;
      readonly superseded: boolean;
      /** Claim and commit were one write (`lease: "receipt"`). */
      readonly direct: boolean;
      /** As of a claim; the input of a claimed record was stored by its claim. */
      readonly input?: string | null;
      /** Where the commit says that the message is; null or absent if it does not. */
      readonly archived?: string | null;
      /** The event time that a direct commit stored. */
      readonly eventTime?: number;
    }
  | {
      readonly kind: "failed";
      readonly name: string;
      readonly attempts: number;
      /** The message of the error that failed the attempt. */
      readonly why: string;
    }
  | {
      readonly kind: "parked";
      readonly name: string;
      readonly attempts: number;
      readonly why: string;
      readonly dossier: boolean;
    }
  /** The record is too late, and parked with its note: the ledger keeps it, or a queue will. */
  | {
      readonly kind: "held";
      readonly name: string;
      readonly attempts: number;
      readonly to: "ledger" | "queue";
    }
  /** The late queue accepted the record's message. */
  | { readonly kind: "late-sent"; readonly name: string; readonly messageId: string }
  /** The pipeline says that it is complete up to `value`; it was asked at `startedAt`. */
  | {
      readonly kind: "complete";
      readonly value: number;
      readonly startedAt: number;
      /** Whether the queue only counted its messages, so that processes had to report theirs. */
      readonly counted: boolean;
    }
  | { readonly kind: "released"; readonly name: string }
  | { readonly kind: "reopened"; readonly name: string }
  | { readonly kind: "acked"; readonly names: readonly string[]; readonly messageId: string }
  /** Dead letters were moved back to their source queue as new messages. */
  | { readonly kind: "moved-back"; readonly names: readonly string[] }
  | { readonly kind: "purged"; readonly names: readonly string[] }
  /**
   * Messages were erased after the end of their queue's retention period. No receive returns them
   * from that end on; the broker erases them later.
   */
  | { readonly kind: "expired"; readonly names: readonly string[]; readonly endedAt: number }
  | { readonly kind: "watermark"; readonly value: number; readonly stored: number }
  | {
      readonly kind: "object";
      readonly name: string;
      readonly object: string;
      readonly sequencer: string;
      readonly change: "put" | "removed";
      readonly value: string;
    }
  /** The archive has a message from here on. */
  | {
      readonly kind: "archived";
      readonly name: string;
      readonly object: string;
      /** Whether it is stored as a masked message. Default: false. */
      readonly masked?: boolean;
    }
  /** What a handler got of a message, in worlds with an archive. */
  | {
      readonly kind: "read";
      readonly name: string;
      readonly replayed: boolean;
      readonly content: string;
    }
  /** A replay cannot use an archived message, and says why. */
  | {
      readonly kind: "not-replayable";
      readonly object: string;
      readonly cause: AbsenceCause;
      readonly reason: string;
    }
  /** A replay of archived messages ended. */
  | {
      readonly kind: "messages-replayed";
      readonly inputs: number;
      readonly committed: number;
      readonly failed: number;
    }
  /** A value that governance refused or had masked was stored, or sent to another queue. */
  | {
      readonly kind: "exposed";
      readonly name: string;
      readonly by: HiddenBy;
      readonly where:
        | "a dead letter"
        | "the late queue"
        | "the ledger"
        | "the archive"
        | "the output of a replay"
        | "a log";
    }
  /** A backfill listed an object; `of` is the change that put it, if a notification reports it. */
  | { readonly kind: "listed"; readonly name: string; readonly of: string | null }
  /**
   * An audit ended; `current` is what the bucket had then. `strays` are those of its start and of
   * its end.
   */
  | {
      readonly kind: "audited";
      readonly startedAt: number;
      readonly findings: readonly AuditFinding[];
      readonly current: readonly { readonly object: string; readonly name: string | null }[];
      readonly strays: {
        readonly before: readonly StrayEffect[];
        readonly after: readonly StrayEffect[];
      };
    }
  /** The circuit breaker of a consumer opened, or closed again. */
  | { readonly kind: "breaker"; readonly open: boolean }
  /** The ledger says from here on that the pipeline is paused, or no longer. */
  | { readonly kind: "paused" | "resumed" }
  /** A check found that all jobs of a batch are done. */
  | {
      readonly kind: "batch-complete";
      readonly batch: string;
      /** Whether the source system had passed on all its jobs. */
      readonly whole: boolean;
      readonly names: readonly string[];
    }
  | { readonly kind: "process"; readonly what: string }
  | { readonly kind: "fault"; readonly id: string; readonly what: string }
  /** Faults end here; `probes` are sent afterwards and meet none. */
  | { readonly kind: "quiet"; readonly probes: readonly string[] }
  | {
      readonly kind: "end";
      readonly drained: boolean;
      readonly waiting: readonly WaitingMessage[];
      /** Records that are claimed, released or failed in the ledger. */
      readonly unfinished: readonly string[];
      /** The sequencer of every object that has a row. */
      readonly rows: readonly { readonly object: string; readonly sequencer: string }[];
    }
  | TableEvent;

export type HistoryEvent = Event & { readonly at: number; readonly actor: string };

/** Settings of the world that checkers need in addition to its history. */
export interface WorldFacts {
  readonly fifo: boolean;
  /** A parked record blocks its message group. */
  readonly halts: boolean;
  readonly contents: "messages" | "objects";
  readonly sink: "transactional" | "idempotent";
  readonly dedupWindowMs: number;
  readonly visibilityMs: number;
  /** Whether the pipeline archives its messages. */
  readonly archives?: boolean;
  /** A record whose object is missing is committed without effects. */
  readonly drops: boolean;
  /** How far the watermark stays behind the newest event, at least. */
  readonly outOfOrderMs: number;
  /** How long a handler may hang; 0 if none does. */
  readonly hangMs: number;
  /** What a table does with rows that the newer version of a file lacks; absent without tables. */
  readonly onReplaced?: "delete" | "keep";
}

export interface History {
  readonly events: readonly HistoryEvent[];
  add(actor: string, event: Event): void;
}

export function createHistory(clock: { readonly now: number }): History {
  const events: HistoryEvent[] = [];
  return {
    events,
    add(actor, event) {
      events.push({ ...event, at: clock.now, actor });
    },
  };
}
