// Column: one column of a table that the sink writes.

import { quotedName } from "./names.ts";
import { type EncodeValue, type ValueType, valueEncoder } from "./row-values.ts";

export interface TableColumn {
  readonly name: string;
  readonly quoted: string;
  readonly type: ValueType;
  /** As the database declares it. */
  readonly native: string;
  readonly encode: EncodeValue;
}

export function columnOf(name: string, type: ValueType, native: string): TableColumn {
  return { name, quoted: quotedName(name), type, native, encode: valueEncoder(type) };
}
