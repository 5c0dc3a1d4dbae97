// Table events: what happened to the tables of a simulated world, for the history (history.ts).
//   Y1. Changes of visible rows are what a trigger of the table saw, transaction by transaction.

/** A row of a file. `bad` rows break the schema until it is repaired. */
export interface FileRow {
  readonly id: string;
  readonly n: number;
  readonly bad: boolean;
  readonly line: number;
}

/** A visible row: its value, or null after it was deleted. */
export type RowChange = readonly [id: string, value: string | null];

export interface SimQuarantinedRow {
  /** The record whose file has the row. */
  readonly name: string;
  readonly id: string;
  readonly line: number;
  readonly reason: string;
}

export type TableEvent =
  /** The source system wrote, or removed, a file. */
  | {
      readonly kind: "file";
      readonly name: string;
      readonly object: string;
      readonly sequencer: string;
      readonly eventTime: number;
      /** Decides between files of one millisecond. */
      readonly tie: number;
      readonly removed: boolean;
      readonly rows: readonly FileRow[];
    }
  /** One transaction on the tables, and the visible rows that it changed. */
  | {
      readonly kind: "table-write";
      readonly what: "record" | "redrive" | "replay" | "promotion" | "other";
      /** The record; of a redrive, the record whose rows are redriven. Empty for others. */
      readonly name: string;
      /** Whether the commit refers to quarantined rows. */
      readonly quarantines: boolean;
      /** The replay, or an empty text. */
      readonly run: string;
      readonly changes: readonly RowChange[];
    }
  /** The tables when everything had drained: before the repair of the schema, and at the end. */
  | {
      readonly kind: "tables";
      readonly phase: "drained" | "end";
      readonly rows: readonly RowChange[];
      readonly quarantined: readonly SimQuarantinedRow[];
      /** Relations of dead attempts and dropped shadows. */
      readonly leftovers: readonly string[];
      /** Rows that a check against the digests of commits reports, although no one edited them. */
      readonly misjudged: readonly string[];
    }
  /** A replay is in the ledger with its inputs, in their order. */
  | {
      readonly kind: "replay-registered";
      readonly run: string;
      readonly generation: number;
      readonly shadow: string;
      /** The version of the code, which is part of every row. */
      readonly code: number;
      /** Whether its code accepts rows that break the schema. */
      readonly acceptsBad: boolean;
      readonly names: readonly string[];
    }
  /** A shadow is complete; these are its rows. */
  | {
      readonly kind: "replay-sealed";
      readonly run: string;
      readonly hash: string;
      readonly rows: readonly RowChange[];
    }
  /** The operator has the answer. */
  | {
      readonly kind: "replay-ended";
      readonly run: string;
      readonly how: "promoted" | "dropped";
    };

/** A visible row as one text. */
export function shownRow(n: number | bigint, code: number | bigint): string {
  return `${n} by code ${code}`;
}
