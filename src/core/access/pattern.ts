// Pattern: wildcards and variables of policies.
//   W1. `*` matches any text and `?` one character. No pattern causes long backtracking.
//   W2. The value of a variable is text: a wildcard in it matches itself only. So both sides mark
//       the wildcards that are text, with characters that no ARN contains.
//   W3. A variable without a value matches nothing, as in IAM.
//   W4. Names come from policies, so they are looked up among the request's own keys only: every
//       object inherits a "constructor".

import type { AccessContext } from "./access-policy.ts";

const STAR = "\u0001";
const MARK = "\u0002";

/** `*` matches any text and `?` one character (W1). */
export function matchesPattern(pattern: string, text: string): boolean {
  let p = 0;
  let star = -1;
  let resume = 0;
  for (let t = 0; t < text.length; ) {
    if (
      p < pattern.length &&
      (pattern[p] === "?" || pattern[p] === text[t]) &&
      pattern[p] !== "*"
    ) {
      p += 1;
      t += 1;
    } else if (pattern[p] === "*") {
      star = p;
      resume = t;
      p += 1;
    } else if (star >= 0) {
      p = star + 1;
      resume += 1;
      t = resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p += 1;
  return p === pattern.length;
}

/** Marks wildcards that are text (W2). */
export function asText(text: string): string {
  return /[*?]/.test(text) ? text.replaceAll("*", STAR).replaceAll("?", MARK) : text;
}

const VARIABLE = /\$\{([^{}]*)\}/g;
const WRITTEN: ReadonlyMap<string, string> = new Map([
  ["*", STAR],
  ["?", MARK],
  ["$", "$"],
]);

/** The value of a condition key; undefined if the request has none (W4). */
export function contextValue(context: AccessContext, key: string): AccessContext[string] {
  const name = key.toLowerCase();
  return Object.hasOwn(context, name) ? context[name] : undefined;
}

/** The pattern with the values of its variables; null if one has no value (W3). */
export function withVariables(pattern: string, context: AccessContext): string | null {
  if (!pattern.includes("${")) return pattern;
  let isMissing = false;
  const text = pattern.replace(VARIABLE, (_, inside: string) => {
    const written = WRITTEN.get(inside);
    if (written !== undefined) return written;
    const [, name = "", fallback] = /^([^,]*?)\s*(?:,\s*'([^']*)'\s*)?$/.exec(inside) ?? [];
    const value = contextValue(context, name.trim());
    const only = typeof value === "string" ? value : value?.length === 1 ? value[0] : undefined;
    if (only === undefined && fallback === undefined) isMissing = true;
    return asText(only ?? fallback ?? "");
  });
  return isMissing ? null : text;
}
