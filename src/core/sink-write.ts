// Sink write: one statement of a sink that shares the ledger's database.
//   V1. Writes are a value: a store runs them within its transaction, and calls no code of a sink.
//   V2. `ifRows` runs if, and only if, the statement returned a row. So a sink can skip work without
//       a round trip of its own.
//   V3. `required` rejects the transaction if the statement returned no row.

import { TidegateError } from "./errors.ts";

/** Placeholder for the fence in a sink's parameters; a direct commit draws it inside the store. */
export const SINK_FENCE: unique symbol = Symbol("the fence of the record");

/** A value that every driver accepts. */
export type SinkValue = string | number | bigint | Uint8Array | null;

export interface SinkWrite {
  readonly statement: string;
  readonly params: readonly (SinkValue | typeof SINK_FENCE)[];
  /** SQLite: runs the statement once for each of these, with their values after `params`. */
  readonly rows?: readonly (readonly SinkValue[])[];
  /** PostgreSQL: the text that a COPY statement reads. */
  readonly copy?: string;
  /** V2 */
  readonly ifRows?: readonly SinkWrite[];
  /** V3: what is wrong if no row is returned. The transaction may succeed later. */
  readonly required?: string;
  /**
   * PostgreSQL: runs instead, if the statement violates a unique index. A plain insert is twice as
   * fast as one that looks for conflicts, row by row.
   */
  readonly ifConflict?: readonly SinkWrite[];
  /** The statement is not used again, so a store need not keep it prepared. */
  readonly once?: boolean;
  /** May take minutes: a store extends its time limits. */
  readonly long?: boolean;
}

/** A statement's parameters, with the record's fence filled in. */
export function sinkParams({ params }: Pick<SinkWrite, "params">, fence: number): SinkValue[] {
  return params.map((param) => (param === SINK_FENCE ? fence : param));
}

/** Runs one statement; whether it returned a row. */
export type RunStatement<R> = (write: SinkWrite, params: readonly SinkValue[]) => R;

/** Runs writes on a driver that answers immediately. */
export function runSinkWrites(
  writes: readonly SinkWrite[],
  fence: number,
  run: RunStatement<boolean>,
): void {
  for (const write of writes) {
    const returned = run(write, sinkParams(write, fence));
    if (!returned) missing(write);
    else if (write.ifRows !== undefined) runSinkWrites(write.ifRows, fence, run); // V2
  }
}

/** Runs writes on a driver that answers later. */
export async function runSinkWritesAsync(
  writes: readonly SinkWrite[],
  fence: number,
  run: RunStatement<Promise<boolean>>,
): Promise<void> {
  for (const write of writes) {
    const returned = await run(write, sinkParams(write, fence));
    if (!returned) missing(write);
    else if (write.ifRows !== undefined) await runSinkWritesAsync(write.ifRows, fence, run); // V2
  }
}

function missing({ required }: SinkWrite): void {
  if (required !== undefined) throw new TidegateError("TG_SINK_UNAVAILABLE", required); // V3
}

/** Whether a write of the tree may take minutes. */
export function hasLongWrite(writes: readonly SinkWrite[]): boolean {
  return writes.some((write) => write.long === true || hasLongWrite(write.ifRows ?? []));
}
