// Effects digest: the content hash of what a record commits. Two attempts with the same effects
// have the same digest, whatever process made them.
//   H1. The hash is over one line per effect, in order. It does not depend on how the effects were
//       split into chunks, or on whether they were staged at all.
//   H2. A line is canonical: fields are sorted, and values that JSON has no form for have one here.
//   H3. A value without a form is named by its type, so that a digest always exists (M6 of
//       commit.ts).

import { createDigest, sha256Hex } from "../../../core/encoding/hash.ts";
import { compareUtf8 } from "../../../core/encoding/utf8-order.ts";
import type { Effect } from "../../../ports/sink.ts";

/** Deeper values are named by their type (H3); this also ends a value that contains itself. */
const DEPTH_MAX = 32;

export interface EffectsDigest {
  add(effects: readonly Effect[]): void;
  /** Call it once. */
  hex(): string;
}

export function createEffectsDigest(): EffectsDigest {
  const digest = createDigest("sha256");
  return {
    add(effects) {
      for (const effect of effects) digest.update(Buffer.from(lineOf(effect)));
    },
    hex: () => Buffer.from(digest.digest()).toString("hex"),
  };
}

/** The digest of effects that are all in memory. */
export function digestOfEffects(effects: readonly Effect[]): string {
  let text = "";
  for (const effect of effects) text += lineOf(effect);
  return sha256Hex(text);
}

function lineOf(effect: Effect): string {
  try {
    return `${canonical(effect, 0)}\n`; // H1
  } catch {
    return `${effect.kind}\n`; // A getter or toJSON of the user's threw (H3).
  }
}

/** H2 */
function canonical(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
    case "boolean":
      return String(value);
    case "bigint":
      return `${value}n`;
    case "object":
      break;
    default:
      return typeof value; // H3
  }
  if (value === null) return "null";
  if (depth >= DEPTH_MAX) return typeof value;
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, depth + 1)).join()}]`;
  if (value instanceof Uint8Array) return `bytes ${sha256Hex(value)}`;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return `json ${canonical(toJSON.call(value), depth + 1)}`;
  return fieldsOf(value as Readonly<Record<string, unknown>>, depth);
}

function fieldsOf(value: Readonly<Record<string, unknown>>, depth: number): string {
  let text = "{";
  for (const name of Object.keys(value).sort(compareUtf8)) {
    if (value[name] !== undefined) {
      text += `${JSON.stringify(name)}:${canonical(value[name], depth + 1)},`;
    }
  }
  return `${text}}`;
}
