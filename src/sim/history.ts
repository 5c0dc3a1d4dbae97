// History: what the broker, the ledger, the sink and the bucket did. Checkers read nothing else.
//   Y1. An event is added where and when its effect happens, whether or not a process gets the
//       response.
//   Y2. `name` is the workload's name of a record (e17), `actor` a process (consumer-2).

export interface WaitingMessage {
  readonly name: string;
  readonly where: "queue" | "dead-letters" | "outbox";
}

type Event =
  /** The producer's row is in the outbox: from here on, the record must not be lost. */
  | { readonly kind: "registered"; readonly name: string; readonly group: string | null }
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
    }
  /** The ledger rejected a claim or a commit. */
  | { readonly kind: "refused"; readonly name: string; readonly why: string }
  | {
      readonly kind: "handling";
      readonly name: string;
      readonly attempt: number;
      readonly fence: number | null;
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
  | { readonly kind: "released"; readonly name: string }
  | { readonly kind: "reopened"; readonly name: string }
  | { readonly kind: "acked"; readonly names: readonly string[]; readonly messageId: string }
  /** Dead letters were moved back to their source queue as new messages. */
  | { readonly kind: "moved-back"; readonly names: readonly string[] }
  | { readonly kind: "purged"; readonly names: readonly string[] }
  /** Messages reached the end of their queue's retention period and were deleted. */
  | { readonly kind: "expired"; readonly names: readonly string[] }
  | { readonly kind: "watermark"; readonly value: number; readonly stored: number }
  | {
      readonly kind: "object";
      readonly name: string;
      readonly object: string;
      readonly sequencer: string;
      readonly change: "put" | "removed";
      readonly value: string;
    }
  | { readonly kind: "process"; readonly what: string }
  | { readonly kind: "fault"; readonly id: string; readonly what: string }
  /** Faults end here; `probes` are sent afterwards and meet none. */
  | { readonly kind: "quiet"; readonly probes: readonly string[] }
  | {
      readonly kind: "end";
      readonly drained: boolean;
      readonly waiting: readonly WaitingMessage[];
      /** The sequencer of every object that has a row. */
      readonly rows: readonly { readonly object: string; readonly sequencer: string }[];
    };

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
  /** A record whose object is missing is committed without effects. */
  readonly drops: boolean;
  /** How far the watermark stays behind the newest event, at least. */
  readonly allowedLatenessMs: number;
  /** How long a handler may hang; 0 if none does. */
  readonly hangMs: number;
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
