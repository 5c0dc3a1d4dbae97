// Sink write: one statement of a sink that shares the ledger's database.

/** Placeholder for the fence in a sink's parameters; a direct commit draws it inside the store. */
export const SINK_FENCE: unique symbol = Symbol("the fence of the record");

export interface SinkWrite {
  readonly statement: string;
  readonly params: readonly (string | number | null | typeof SINK_FENCE)[];
}

/** A statement's parameters, with the record's fence filled in. */
export function sinkParams({ params }: SinkWrite, fence: number): (string | number | null)[] {
  return params.map((param) => (param === SINK_FENCE ? fence : param));
}
