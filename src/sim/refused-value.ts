// Refused value: a text in the payload of records that the simulated `govern` refuses. It is the
// only text of its form in a world, so that every store can look for it.

const PREFIX = "refused-value-of-";
const VALUE = new RegExp(`${PREFIX}([\\w-]+)`, "g");

export function refusedValueOf(name: string): string {
  return `${PREFIX}${name}`;
}

/** The records whose refused value a text contains. */
export function refusedNamesIn(text: string): readonly string[] {
  if (!text.includes(PREFIX)) return [];
  return [...new Set([...text.matchAll(VALUE)].map(([, name = ""]) => name))];
}
