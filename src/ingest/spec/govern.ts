// Govern: the types of a pipeline's `govern` function, which decides whether data may be processed.

import type { ReadFormat, RowWithoutSchema, SourceSpec } from "./pipeline-spec.ts";

/**
 * "allow" gives the data to the handler as it is, "mask" hides the values of the pipeline's `mask`
 * first, and "refuse" dead-letters the record without its payload.
 */
export type GovernAnswer = "allow" | "mask" | "refuse";

/** The row that `govern` gets: as it was read, before the schema. Messages have none. */
export type GovernedRow<S extends SourceSpec, F extends ReadFormat = ReadFormat> = S extends
  | { readonly bucket: string }
  | { readonly contents: "objects" }
  ? RowWithoutSchema<S, F>
  : undefined;
