// Hidden value: a text in the payload of records that the simulated `govern` refuses or has masked.
// It is the only text of its form in a world, so that every store can look for it.

/** What `govern` answers for the record. */
export type HiddenBy = "refused" | "masked";

export interface HiddenValue {
  /** The record whose value it is. */
  readonly name: string;
  readonly by: HiddenBy;
}

const MIDDLE = "-value-of-";
const VALUE = new RegExp(`(refused|masked)${MIDDLE}([\\w-]+)`, "g");

export function hiddenValueOf(name: string, by: HiddenBy): string {
  return `${by}${MIDDLE}${name}`;
}

/** The hidden values that a text contains, each once. */
export function hiddenValuesIn(text: string): readonly HiddenValue[] {
  if (!text.includes(MIDDLE)) return [];
  const values = new Map<string, HiddenValue>();
  for (const [value, by, name = ""] of text.matchAll(VALUE)) {
    values.set(value, { name, by: by as HiddenBy });
  }
  return [...values.values()];
}
