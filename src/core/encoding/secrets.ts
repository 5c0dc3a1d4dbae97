// Secrets: the masked values of one record, and texts without them.
//   S1. A text loses every known value, in each spelling of `spellingsOf`. Overlapping values become
//       one. Values with fewer than three characters are too common to search for.
//   S2. The values of a record itself are all known. Of the rows that were read, at most VALUES_MAX
//       different values and UNITS_MAX characters are in memory. If a record has more, a text may
//       quote an unknown one, so `hide` hides every text as a whole.
//   S3. Names, such as an object's key, were chosen before a row was read. They lose the known
//       values only, because a report without names is useless.
//   S4. The number of values does not slow the search: a tree of them shares equal starts, so one
//       walk finds the longest value at a place. A walk is as long as the start of a value there.

/** Replaces a hidden value. */
export const MASKED = "***";
/** Shorter values are not searched for (S1). */
export const SECRET_UNITS_MIN = 3;
const VALUES_MAX = 20_000;
const UNITS_MAX = 4_194_304;

/** Stands for a text that may quote a value that is not known (S2). */
export const HIDDEN_TEXT =
  "*** hidden: the record has too many masked values to remove them from this text";

/** Stand for a body in which no path finds anything, because it could not be read. */
export const HIDDEN_BODY =
  "hidden: the body is not valid JSON, so its masked fields cannot be found";
export const HIDDEN_FORM =
  "hidden: the pipeline does not know the form of the body, so its masked fields cannot be found";

/** The sentence that already stands for a body, or HIDDEN_BODY. */
export function hiddenBodyOf(payload: unknown): string {
  return payload === HIDDEN_FORM ? HIDDEN_FORM : HIDDEN_BODY;
}

/** Values to remove from a text: the few of a message, or those of a record and its rows. */
export type SecretValues = readonly string[] | Secrets;

export class Secrets {
  readonly #values: Set<string>;
  /** Values that the tree does not have yet. */
  readonly #pending: string[];
  /** Made for the first text: most records have none. */
  #tree: SpellingTree | null = null;
  #rowValues = 0;
  #rowUnits = 0;
  #isFull = false;

  /** `own` are the values of the record itself. */
  constructor(own: Iterable<string> = []) {
    this.#values = new Set(own);
    this.#pending = [...this.#values];
  }

  /** Adds values of a row (S2). */
  add(values: readonly string[]): void {
    if (this.#isFull) return;
    for (const value of values) {
      if (this.#values.has(value)) continue;
      this.#rowValues += 1;
      this.#rowUnits += value.length;
      if (this.#rowValues > VALUES_MAX || this.#rowUnits > UNITS_MAX) {
        this.#isFull = true;
        return;
      }
      this.#values.add(value);
      this.#pending.push(value);
    }
  }

  /** The text without the values, or HIDDEN_TEXT (S1, S2). */
  hide(text: string): string {
    return this.#isFull && text !== "" ? HIDDEN_TEXT : this.hideInName(text);
  }

  /** The name without the values that are known (S3). */
  hideInName(text: string): string {
    if (this.#values.size === 0) return text;
    this.#tree ??= new SpellingTree();
    this.#tree.add(this.#pending.splice(0));
    return this.#tree.removeFrom(text);
  }
}

interface Branch {
  /** Follows the labels of the branches above. */
  label: string;
  endsSpelling: boolean;
  /** By the first unit of their labels, which differ; null for a leaf. */
  next: Map<number, Branch> | null;
}

/** Spellings by their starts, as a radix tree (S4). */
class SpellingTree {
  readonly #root: Branch = { label: "", endsSpelling: false, next: null };

  removeFrom(text: string): string {
    let shown = "";
    let shownTo = 0;
    let hiddenTo = 0;
    for (let at = 0; at < text.length; at++) {
      const end = this.#endAt(text, at);
      if (end <= at) continue;
      if (at >= hiddenTo) {
        shown += text.slice(shownTo, at) + MASKED;
        hiddenTo = at;
      }
      hiddenTo = Math.max(hiddenTo, end);
      shownTo = hiddenTo;
    }
    return shown === "" ? text : shown + text.slice(shownTo);
  }

  /** Where the longest value ends that starts at that position; 0 without one. */
  #endAt(text: string, start: number): number {
    let end = 0;
    let at = start;
    let branch = this.#root.next?.get(text.charCodeAt(at));
    while (branch !== undefined && text.startsWith(branch.label, at)) {
      at += branch.label.length;
      if (branch.endsSpelling) end = at;
      branch = branch.next?.get(text.charCodeAt(at));
    }
    return end;
  }

  add(values: readonly string[]): void {
    for (const value of values) {
      if (value.length < SECRET_UNITS_MIN) continue;
      for (const spelling of spellingsOf(value)) this.#addSpelling(spelling);
    }
  }

  #addSpelling(spelling: string): void {
    let branch = this.#root;
    let at = 0;
    while (at < spelling.length) {
      branch.next ??= new Map();
      const unit = spelling.charCodeAt(at);
      const next = branch.next.get(unit);
      if (next === undefined) {
        branch.next.set(unit, { label: spelling.slice(at), endsSpelling: true, next: null });
        return;
      }
      const shared = sharedUnits(next.label, spelling, at);
      if (shared < next.label.length) splitBranch(next, shared);
      branch = next;
      at += shared;
    }
    branch.endsSpelling = true;
  }
}

/** How many units of the label the spelling has from that position on. */
function sharedUnits(label: string, spelling: string, at: number): number {
  let shared = 0;
  while (shared < label.length && label.charCodeAt(shared) === spelling.charCodeAt(at + shared)) {
    shared += 1;
  }
  return shared;
}

/** Keeps `units` of the label; a new branch below takes the rest. */
function splitBranch(branch: Branch, units: number): void {
  const lower = { ...branch, label: branch.label.slice(units) };
  branch.next = new Map([[lower.label.charCodeAt(0), lower]]);
  branch.label = branch.label.slice(0, units);
  branch.endsSpelling = false;
}

/** `text` without the values. */
export function withoutSecrets(text: string, values: SecretValues): string {
  return (values instanceof Secrets ? values : new Secrets(values)).hide(text);
}

/** `name` without the values that are known (S3). */
export function nameWithoutSecrets(name: string, values: SecretValues): string {
  return (values instanceof Secrets ? values : new Secrets(values)).hideInName(name);
}

const NUMBER = /^-?(\d{4,})(?:\.\d+)?$/;
/** Between thousands, as Intl and people write them. */
const SEPARATORS = [",", ".", " ", "_", "'", "\u2019", "\u00a0", "\u202f"];

/**
 * Literal, and escaped for JSON, JSON in a string of JSON, quotes, SQL, and a URL or a form; a
 * number also in groups.
 */
function spellingsOf(value: string): Set<string> {
  const escaped = encodeURIComponent(value.toWellFormed());
  const inJson = escapedForJson(value);
  return new Set([
    value,
    inJson,
    escapedForJson(inJson),
    value.replaceAll("'", "\\'"),
    value.replaceAll("'", "''"),
    escaped,
    escaped.replaceAll("%20", "+"),
    ...groupedNumbers(value),
  ]);
}

function escapedForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** 1234567 and 1,234,567 for -1234567.5: a sign and any fraction may be around it. */
function groupedNumbers(value: string): string[] {
  const [, digits = ""] = NUMBER.exec(value) ?? [];
  if (digits === "") return [];
  const grouped = SEPARATORS.map((mark) => digits.replaceAll(/\B(?=(?:\d{3})+$)/g, mark));
  return [digits, ...grouped];
}
