// Errors: the one table of everything that can go wrong in operation.
//   E1. A code is stable for ever; its text may improve.
//   E2. Every code says whether trying again can help, and what the reader should do next.
//   E3. An expected outcome is a returned union, never one of these.

/** Stable codes of operating failures; docs/reference/errors.md is checked against this table. */
export const ERROR_CODES = {
  TG_CONFIG_INVALID: {
    retry: "never",
    hint: "Run the command with --help to see what it takes.",
  },
  TG_PIPELINE_INVALID: {
    retry: "never",
    hint: "Mend the pipeline file and start again; nothing was opened.",
  },
  TG_VALUE_INVALID: {
    retry: "never",
    hint: "Mend the value named in the message; nothing was written.",
  },
  TG_STORE_LOCKED: {
    retry: "later",
    hint: "Stop the other process, or start this one with another --data folder.",
  },
  TG_STORE_CORRUPT: {
    retry: "never",
    hint: "Nothing was changed. Restore what it names from a copy, or start with another --data folder.",
  },
  TG_STORE_NEWER: {
    retry: "never",
    hint: "This data was written by a newer Tidegate; start it with that version or a later one.",
  },
  TG_STORE_UNAVAILABLE: {
    retry: "later",
    hint: "Check that the disk has room and may be written to; requests are refused until it does.",
  },
  TG_LEDGER_UNAVAILABLE: {
    retry: "later",
    hint: "Deliveries stay queued; check that the ledger's store runs and may be written to.",
  },
  TG_OUTBOX_UNAVAILABLE: {
    retry: "later",
    hint: "Send the event again once the outbox's store runs and may be written to; it is sent once.",
  },
  TG_DEDUPE_KEY_REUSED: {
    retry: "never",
    hint: "Give every event a dedupe_key of its own; nothing of this one was sent.",
  },
  TG_QUEUE_UNAVAILABLE: {
    retry: "later",
    hint: "Nothing is lost: registered events wait to be sent once, received messages come back.",
  },
  TG_QUEUE_REFUSED: {
    retry: "never",
    hint: "Check that the queue or topic exists and that you may use it; what was registered waits.",
  },
  TG_MESSAGE_REFUSED: {
    retry: "never",
    hint: "The queue takes no such message; mend the event and send it again under the same key.",
  },
  TG_OBJECTS_UNAVAILABLE: {
    retry: "later",
    hint: "Check that the bucket exists and may be used; nothing was sent or committed.",
  },
  TG_OBJECT_UNREADABLE: {
    retry: "never",
    hint: "Mend the object and put it again; docs/reference/formats.md says what can be read.",
  },
  TG_SINK_REFUSED: {
    retry: "never",
    hint: "Ledger and sink were left as they were; mend the statement or the row it writes.",
  },
  TG_SINK_UNAVAILABLE: {
    retry: "later",
    hint: "Deliveries stay queued; check that the sink's database runs and has room to write.",
  },
  TG_PORT_TAKEN: {
    retry: "later",
    hint: "Choose another --port, or --port 0 for a free one.",
  },
  TG_ANSWER_DROPPED: {
    retry: "later",
    hint: "What was asked for was done; a fault that you asked for kept the answer back.",
  },
  TG_INIT_CONFLICT: {
    retry: "never",
    hint: "What is there was left as it is. Change the set-up file, or delete what it disagrees with.",
  },
  TG_LEASES_UNKEPT: {
    retry: "later",
    hint: "Start it again: nothing is lost, and what was in hand is delivered again.",
  },
  TG_CLOSED: {
    retry: "never",
    hint: "The part was used after it had been closed.",
  },
} as const satisfies Record<`TG_${string}`, { retry: "never" | "later"; hint: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An operating failure: the world did not do what was asked, and the code says which way. */
export class TidegateError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TidegateError";
    this.code = code;
  }

  /** Whether the same call may succeed later without anybody changing it. */
  get retry(): "never" | "later" {
    return ERROR_CODES[this.code].retry;
  }

  /** What the reader should do next, in one sentence. */
  get hint(): string {
    return ERROR_CODES[this.code].hint;
  }
}

/** What was thrown, as the end of a sentence of ours. */
export function reasonOf(error: unknown): string {
  // A refused connection to a name with several addresses has its reasons only in the parts.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** Whether a store says that what it was asked for is not what was written. */
export function isCorruption(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_STORE_CORRUPT";
}
