// Dead letter filter: selects dead letters, those on other pages included. It is in the address,
// and the API and the command line take the same one.

import type { QueryValues, Route } from "./route.ts";

export interface LetterFilter {
  readonly errorClass?: string;
  readonly fingerprint?: string;
  readonly key?: string;
  readonly olderThanMs?: number;
  readonly newerThanMs?: number;
}

const TEXTS = ["errorClass", "fingerprint", "key"] as const;
const TIMES = ["olderThanMs", "newerThanMs"] as const;

export function filterIn({ query }: Route): LetterFilter {
  const filter: Record<string, string | number> = {};
  for (const name of TEXTS) {
    const value = query.get(name);
    if (value) filter[name] = value;
  }
  for (const name of TIMES) {
    const value = Number(query.get(name) ?? 0);
    if (value > 0) filter[name] = value;
  }
  return filter;
}

/** The filter as parameters of a link. */
export function filterQuery(filter: LetterFilter): QueryValues {
  return { ...filter };
}

/** The filter as flags of `tidegate dlq`. */
export function filterFlags(filter: LetterFilter): string {
  const minutes = (ms: number) => `${Math.round(ms / 60_000)}m`;
  const flags = [
    filter.errorClass === undefined ? "" : ` --class ${quoted(filter.errorClass)}`,
    filter.fingerprint === undefined ? "" : ` --fingerprint ${quoted(filter.fingerprint)}`,
    filter.key === undefined ? "" : ` --key ${quoted(filter.key)}`,
    filter.olderThanMs === undefined ? "" : ` --older ${minutes(filter.olderThanMs)}`,
    filter.newerThanMs === undefined ? "" : ` --newer ${minutes(filter.newerThanMs)}`,
  ];
  return flags.join("");
}

/** "class schema, newer than 1 h", or "all dead letters" */
export function filterWords(filter: LetterFilter): string {
  const { errorClass, fingerprint, key, olderThanMs, newerThanMs } = filter;
  const hours = (ms: number) => `${ms / 3_600_000} h`;
  const words = [
    errorClass === undefined ? null : `class ${errorClass}`,
    fingerprint === undefined ? null : `fingerprint ${fingerprint}`,
    key === undefined ? null : `key ${key}`,
    olderThanMs === undefined ? null : `older than ${hours(olderThanMs)}`,
    newerThanMs === undefined ? null : `newer than ${hours(newerThanMs)}`,
  ].filter((word) => word !== null);
  return words.length === 0 ? "all dead letters" : words.join(", ");
}

function quoted(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
