// Sink write: one statement of a sink that shares the ledger's database.

/** Stands in a sink's parameters for the fence, which a direct commit draws inside of the store. */
export const SINK_FENCE: unique symbol = Symbol("the fence of the record");

/** One statement of a sink that lives in the ledger's own database. */
export interface SinkWrite {
  readonly statement: string;
  readonly params: readonly (string | number | null | typeof SINK_FENCE)[];
}

/** A statement's parameters, with the record's fence in its place. */
export function sinkParams({ params }: SinkWrite, fence: number): (string | number | null)[] {
  return params.map((param) => (param === SINK_FENCE ? fence : param));
}
