// History: what happened, as those saw it who carried it out: the broker, the ledger, the sink, the
// bucket. Checkers read nothing else.
//   Y1. An event is written down where its effect is, at the moment of it, whoever hears of it.
//   Y2. `name` is the workload's name of a record (e17), `actor` a process (consumer-2).

export interface WaitingMessage {
  readonly name: string;
  readonly where: "queue" | "dead-letters" | "outbox";
}

type Event =
  /** The producer's row is in the outbox: from here on it is our duty. */
  | { readonly kind: "registered"; readonly name: string; readonly group: string | null }
  /** The queue took it, or knew it. */
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
      /** Of the attempt it was given up with. */
      readonly fence: number;
    }
  | {
      readonly kind: "delivered";
      readonly names: readonly string[];
      readonly messageId: string;
      readonly receipt: string;
      readonly receiveCount: number;
      /** What it says of itself if it is a dead letter, come back; null for all others. */
      readonly letter: { readonly name: string; readonly fence: number } | null;
    }
  | {
      readonly kind: "claimed";
      readonly name: string;
      readonly fence: number;
      readonly attempt: number;
    }
  /** The ledger had nothing for it to do, or not now. */
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
      /** False: the sink knew a later one and left things as they were. */
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
      /** In one write with its claim, as the receipt was trusted. */
      readonly direct: boolean;
    }
  | {
      readonly kind: "failed";
      readonly name: string;
      readonly attempts: number;
      /** What the attempt failed of, in the error's words. */
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
  /** Dead letters came back to their queue as new messages. */
  | { readonly kind: "moved-back"; readonly names: readonly string[] }
  | { readonly kind: "purged"; readonly names: readonly string[] }
  /** They were in the queue for as long as it keeps a message, and are gone by right. */
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
  /** Faults end here; `probes` were sent afterwards and met none. */
  | { readonly kind: "quiet"; readonly probes: readonly string[] }
  | {
      readonly kind: "end";
      readonly drained: boolean;
      readonly waiting: readonly WaitingMessage[];
      /** What every object's row says, if there is one. */
      readonly rows: readonly { readonly object: string; readonly sequencer: string }[];
    };

export type HistoryEvent = Event & { readonly at: number; readonly actor: string };

/** What a checker may know of the world besides its history. */
export interface WorldFacts {
  readonly fifo: boolean;
  /** Records given up on keep their group waiting. */
  readonly halts: boolean;
  readonly contents: "messages" | "objects";
  readonly sink: "transactional" | "idempotent";
  readonly dedupWindowMs: number;
  readonly visibilityMs: number;
  /** What is gone when it is to be read is committed without effects. */
  readonly drops: boolean;
  /** How far the watermark stays behind the newest event, at the least. */
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
