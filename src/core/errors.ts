// Errors: the one table of everything that can go wrong in operation.
//   E1. A code never changes; its text may improve.
//   E2. Every code says whether a retry can help, and what the reader should do next. An error that
//       needs other advice than the rest of its code brings its own hint. Hints name no flag:
//       programs read them, too.
//   E3. An expected outcome is a returned union, never one of these.

/** Stable codes of operating failures; docs/reference/errors.md is checked against this table. */
export const ERROR_CODES = {
  TG_CONFIG_INVALID: {
    retry: "never",
    hint: "Change what the message names, then start again.",
  },
  TG_PIPELINE_INVALID: {
    retry: "never",
    hint: "Fix the pipeline file and start again; nothing was opened.",
  },
  TG_VALUE_INVALID: {
    retry: "never",
    hint: "Fix the value named in the message; nothing was written.",
  },
  TG_STORE_LOCKED: {
    retry: "later",
    hint: "Stop the other process, or start this one with another data folder.",
  },
  TG_STORE_CORRUPT: {
    retry: "never",
    hint: "Nothing was changed. Restore the named file from a backup, or start with another data folder.",
  },
  TG_BACKUP_INVALID: {
    retry: "never",
    hint: "Nothing was restored. Use another backup, or copy this one again from where it is kept.",
  },
  TG_STORE_NEWER: {
    retry: "never",
    hint: "A newer version of Tidegate wrote this data; start it with that version or a later one.",
  },
  TG_STORE_OLDER: {
    retry: "never",
    hint: "Nothing was changed. Run `tidegate ledger migrate`; a store that it cannot upgrade stays readable by its own release.",
  },
  TG_STORE_FULL: {
    retry: "later",
    hint: "Delete messages or objects, or free disk space; deletes, purges, receives and reads still work.",
  },
  TG_STORE_UNAVAILABLE: {
    retry: "later",
    hint: "Check free disk space and write permissions.",
  },
  TG_LEDGER_UNAVAILABLE: {
    retry: "later",
    hint: "Messages stay in the queue; check that the ledger database is running and writable.",
  },
  TG_LISTING_OFF: {
    retry: "never",
    hint: "A DynamoDB table keeps lists only if it was created with the option `listing`; create a new table with it.",
  },
  TG_LEDGER_BUSY: {
    retry: "later",
    hint: "Another process holds the locks of these records; the message is redelivered soon.",
  },
  TG_OUTBOX_UNAVAILABLE: {
    retry: "later",
    hint: "Check that the outbox database is running and writable, then send the event again; it is sent once.",
  },
  TG_DEDUPE_KEY_REUSED: {
    retry: "never",
    hint: "Give every event its own dedupe_key; this event was not sent.",
  },
  TG_QUEUE_UNAVAILABLE: {
    retry: "later",
    hint: "Check that the queue answers at its endpoint; nothing is lost.",
  },
  TG_QUEUE_REFUSED: {
    retry: "never",
    hint: "Check that the queue or topic exists and that you may use it; nothing is lost.",
  },
  TG_MESSAGE_REFUSED: {
    retry: "never",
    hint: "The queue rejects this message; fix the event and send it again under the same key.",
  },
  TG_OBJECTS_UNAVAILABLE: {
    retry: "later",
    hint: "Check that the bucket exists and is accessible; nothing was sent or committed.",
  },
  TG_OBJECT_UNREADABLE: {
    retry: "never",
    hint: "Fix the object and upload it again; docs/reference/formats.md lists the supported formats.",
  },
  TG_SINK_REFUSED: {
    retry: "never",
    hint: "Ledger and sink are unchanged; fix the row or the statement that writes it.",
  },
  TG_SINK_UNAVAILABLE: {
    retry: "later",
    hint: "Messages stay in the queue; check that the sink database is running and has disk space.",
  },
  TG_REPLAY_REFUSED: {
    retry: "never",
    hint: "Nothing was changed; `tidegate replay list` shows the runs and their states.",
  },
  TG_PORT_IN_USE: {
    retry: "later",
    hint: "Choose another port, or port 0 for a free one.",
  },
  TG_RESPONSE_DROPPED: {
    retry: "later",
    hint: "The request succeeded; an injected fault dropped the response.",
  },
  TG_SETUP_CONFLICT: {
    retry: "never",
    hint: "Existing resources are unchanged. Change the setup file, or delete the resource it conflicts with.",
  },
  TG_LEASE_RENEWAL_STOPPED: {
    retry: "later",
    hint: "Start the pipeline again; nothing is lost, and messages in flight are redelivered.",
  },
  TG_CLOCK_LEAPT: {
    retry: "later",
    hint: "Set the system clock right. If it is right, confirm it with the option `acceptClock`, or wait: after 24 hours of running it counts.",
  },
  TG_BATCH_INCOMPLETE: {
    retry: "later",
    hint: "Nothing is lost: Lambda delivers the event again, and committed records are recognised as duplicates.",
  },
  TG_CLOSED: {
    retry: "never",
    hint: "Do not use an object after closing it.",
  },
} as const satisfies Record<`TG_${string}`, { retry: "never" | "later"; hint: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An operating failure; the code says which one. */
export class TidegateError extends Error {
  readonly code: ErrorCode;
  readonly #hint: string | undefined;

  /** `hint` replaces that of the code where it does not fit this error (E2). */
  constructor(
    code: ErrorCode,
    message: string,
    options?: { readonly cause?: unknown; readonly hint?: string },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TidegateError";
    this.code = code;
    this.#hint = options?.hint;
  }

  /** Whether the same call may succeed later without a change. */
  get retry(): "never" | "later" {
    return ERROR_CODES[this.code].retry;
  }

  /** What the reader should do next. */
  get hint(): string {
    return this.#hint ?? ERROR_CODES[this.code].hint;
  }
}

/** Rejects a value that a caller gave. */
export function refuseValue(message: string): never {
  throw new TidegateError("TG_VALUE_INVALID", message);
}

/** Rejects settings that cannot work. */
export function refuseConfig(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** The reason of a thrown value, for the end of a message. */
export function reasonOf(error: unknown): string {
  // A failed connection to a name with several addresses has its reasons only in the parts.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** The error for a request that needs disk space while there is none; nothing was written. */
export function diskFullError(): TidegateError {
  const message = "the disk is full; delete messages or objects, or free disk space";
  return new TidegateError("TG_STORE_FULL", message);
}

/** Whether a store rejected a write because the disk is full; nothing was written. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_STORE_FULL";
}

/** Whether a store reports damaged data. */
export function isCorruption(error: unknown): boolean {
  return error instanceof TidegateError && error.code === "TG_STORE_CORRUPT";
}
