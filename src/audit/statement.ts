// Statement: the result of an audit as a document with a digest over all of it.
//   T1. Lines are hashed in the order of keys, in one segment per UTC day of their time. A segment
//       also ends where an earlier statement of the chain ended.
//   T2. Each segment extends a chain of digests. A statement of a longer window with the same lines
//       has the same chain at the end of the earlier window.
//   T3. `digest` is the SHA-256 of the canonical JSON of all other fields except `signature`.
//   T4. A segment that the ledger may have forgotten is carried over from the earlier statement,
//       and says so. Its lines are not judged again.
//   T5. Memory holds a hash per day, and EXCEPTIONS_MAX exceptions. The counts are always complete.
//       The same holds for the quarantined rows of its days: their notes expire with the records.
//   T6. "complete" means that all is applied. What waits, failed, or is held or quarantined is
//       accounted for, and not applied.

import { canonicalJson } from "../core/encoding/canonical-json.ts";
import { createDigest, type Digest, sha256Hex } from "../core/encoding/hash.ts";
import { formatInstant, parseInstant } from "../core/encoding/rfc3339.ts";
import { days, type EpochMs, epochMs } from "../core/units.ts";
import type { AuditCounts, AuditException, AuditStatus, AuditVerdict } from "../ports/audit.ts";
import type { TableCheck } from "../ports/row-checker.ts";
import {
  type AuditLine,
  FAILURES,
  LISTED,
  lineText,
  notApplied,
  sumCounts,
  zeroCounts,
} from "./audit-line.ts";
import {
  type QuarantinedSegment,
  quarantineOf,
  type StatementQuarantine,
} from "./statement-quarantine.ts";

export const STATEMENT_SCHEMA = "https://tidegate.dev/schemas/audit-statement-1.json";

/** Exceptions that a statement lists; `--lines` writes every line. */
const EXCEPTIONS_MAX = 10_000;
const CHUNK_CHARS = 32_768;

/** The lines of one day, or of a part of it. */
export interface StatementSegment {
  /** The first instant of the segment. */
  readonly from: string;
  readonly counts: AuditCounts;
  /** SHA-256 of its lines, in the order of keys. */
  readonly digest: string;
  /** Set if it comes from the earlier statement (T4). */
  readonly carried?: true;
}

/** An exception with the time of its object. */
export interface ListedException extends AuditException {
  readonly at: string;
}

/** What differs from the earlier statement, within its window. */
export interface StatementChanges {
  readonly digest: string;
  /** The key that signed the earlier statement; null if it is not signed. */
  readonly keyId: string | null;
  readonly chain: string;
  readonly to: string;
  /** Whether the chain at the end of the earlier window is the same (T2). */
  readonly unchanged: boolean;
  readonly segments: readonly {
    readonly from: string;
    readonly before: AuditCounts | null;
    readonly after: AuditCounts | null;
  }[];
  /** Exceptions of the earlier statement that are no longer exceptions. */
  readonly resolved: readonly ListedException[];
  /** Exceptions in the earlier window that the earlier statement does not have. */
  readonly appeared: readonly ListedException[];
}

/** What a statement is about. */
export interface StatementSubject {
  readonly pipeline: string;
  readonly generation: number;
  readonly bucket: string;
  readonly prefix: string;
  /** Set if only keys that end with it must have taken effect. */
  readonly suffix?: string;
}

/** The result of an audit; docs/reference/schemas has its schema. */
export interface Statement {
  readonly schema: typeof STATEMENT_SCHEMA;
  readonly id: string;
  readonly subject: StatementSubject;
  readonly window: { readonly from: string | null; readonly to: string };
  readonly startedAt: string;
  readonly endedAt: string;
  readonly verdict: AuditVerdict;
  readonly counts: AuditCounts;
  /** At the end of the audit, of events in the window. */
  readonly quarantined: StatementQuarantine;
  readonly ledger: {
    /** Objects that were modified earlier may have records that the ledger has forgotten. */
    readonly forgetsBefore: string;
  };
  readonly sink: { readonly checked: boolean; readonly what: string };
  readonly queue: {
    readonly read: "exact" | "counted" | "unread";
    readonly messages: number | null;
  };
  /** Null if rows were not compared. */
  readonly rows: readonly TableCheck[] | null;
  readonly graceMs: number;
  /** The ends of earlier windows of the chain (T1). */
  readonly cuts: readonly string[];
  readonly segments: readonly StatementSegment[];
  readonly exceptions: readonly ListedException[];
  /** Exceptions beyond those that are listed (T5). */
  readonly exceptionsOmitted: number;
  readonly previous: StatementChanges | null;
  readonly chain: string;
  readonly digest: string;
  readonly signature: StatementSignature | null;
}

/** Who signed a statement. */
export interface StatementSignature {
  readonly algorithm: "ed25519";
  /** SHA-256 of the public key in SPKI form. */
  readonly keyId: string;
  /** Base64, over the text of `digest`. */
  readonly value: string;
}

const DAY_MS = days(1);

interface OpenSegment {
  readonly counts: Record<AuditStatus, number>;
  readonly digest: Digest;
  text: string;
}

export interface StatementWindow {
  readonly subject: StatementSubject;
  readonly from: EpochMs | null;
  readonly to: EpochMs;
  readonly forgetsBefore: EpochMs;
  /** The earlier statement, if there is one. */
  readonly previous: Statement | null;
}

export type StatementFacts = Pick<
  Statement,
  "id" | "startedAt" | "endedAt" | "sink" | "queue" | "rows" | "graceMs"
>;

/** Collects lines in the order of keys and ends as a statement. */
export class StatementBuilder {
  readonly #window: StatementWindow;
  readonly #cuts: readonly number[];
  readonly #open = new Map<number, OpenSegment>();
  readonly #carried = new Map<number, StatementSegment>();
  readonly #quarantined = new Map<number, QuarantinedSegment>();
  readonly #exceptions: ListedException[] = [];
  #omitted = 0;
  /** Exceptions in the list that are not failures. */
  #minor = 0;

  constructor(window: StatementWindow) {
    this.#window = window;
    const { previous, forgetsBefore } = window;
    const cuts = previous === null ? [] : [...previous.cuts, previous.window.to];
    this.#cuts = [...new Set(cuts.map(instantMs))].toSorted((a, b) => a - b);
    for (const segment of previous?.segments ?? []) {
      const from = instantMs(segment.from);
      if (this.#endOf(from) <= forgetsBefore) {
        this.#carried.set(from, { ...segment, carried: true }); // T4
      }
    }
    for (const segment of previous?.quarantined.segments ?? []) {
      const from = instantMs(segment.from);
      if (this.#endOf(from) <= forgetsBefore) {
        this.#quarantined.set(from, { ...segment, carried: true }); // T4
      }
    }
    for (const exception of previous?.exceptions ?? []) {
      if (this.#carried.has(this.#startOf(instantMs(exception.at)))) this.#except(exception);
    }
    this.#omitted += this.#carriedOmitted();
  }

  /** Exceptions of carried segments that the earlier statement did not list, either (T4). */
  #carriedOmitted(): number {
    const counts = sumCounts([...this.#carried.values()].map((segment) => segment.counts));
    let listed = 0;
    for (const status of LISTED) listed += counts[status];
    return Math.max(0, listed - this.#exceptions.length - this.#omitted);
  }

  add(line: AuditLine): void {
    const from = this.#startOf(line.at);
    if (this.#carried.has(from)) return; // T4
    let segment = this.#open.get(from);
    if (segment === undefined) {
      segment = { counts: zeroCounts(), digest: createDigest("sha256"), text: "" };
      this.#open.set(from, segment);
    }
    segment.counts[line.status] += 1;
    segment.text += lineText(line); // T1
    if (segment.text.length >= CHUNK_CHARS) flush(segment);
    if (!LISTED.has(line.status)) return;
    const { key, versionId, status, reason } = line;
    this.#except({ key, versionId, status, reason, at: formatInstant(line.at) });
  }

  /** Adds an open set of quarantined rows, whose event has that time. */
  addQuarantined(at: EpochMs, count: number): void {
    const start = this.#startOf(at);
    const existing = this.#quarantined.get(start);
    if (existing?.carried === true) return; // T4
    const { sets, rows } = existing ?? { sets: 0, rows: 0 };
    const from = formatInstant(epochMs(start));
    this.#quarantined.set(start, { from, sets: sets + 1, rows: rows + count });
  }

  end(facts: StatementFacts): Statement {
    const { subject, from, to, previous, forgetsBefore } = this.#window;
    const own = [...this.#open].map(([start, segment]): [number, StatementSegment] => {
      flush(segment);
      const digest = Buffer.from(segment.digest.digest()).toString("hex");
      return [start, { from: formatInstant(epochMs(start)), counts: segment.counts, digest }];
    });
    const segments = [...this.#carried, ...own]
      .toSorted(([one], [two]) => one - two)
      .map(([, segment]) => segment);
    const counts = sumCounts(segments.map((segment) => segment.counts));
    const quarantined = quarantineOf(this.#quarantined);
    const window = { from: from === null ? null : formatInstant(from), to: formatInstant(to) };
    const body = {
      schema: STATEMENT_SCHEMA,
      ...facts,
      subject,
      window,
      verdict: verdictOf(counts, { quarantined, rows: facts.rows }),
      counts,
      quarantined,
      ledger: { forgetsBefore: formatInstant(forgetsBefore) },
      cuts: this.#cuts.map((at) => formatInstant(epochMs(at))),
      segments,
      exceptions: this.#exceptions,
      exceptionsOmitted: this.#omitted,
      previous: previous === null ? null : this.#changesSince(previous, segments),
      chain: chainOf(subject, window.from, segments),
    } as const;
    return { ...body, digest: digestOf(body), signature: null };
  }

  #changesSince(previous: Statement, segments: readonly StatementSegment[]): StatementChanges {
    const isCarried = ({ at }: ListedException) => this.#carried.has(this.#startOf(instantMs(at)));
    return changesOf(previous, segments, this.#exceptions, isCarried);
  }

  #except(exception: ListedException): void {
    const isFailure = FAILURES.has(exception.status);
    if (this.#exceptions.length >= EXCEPTIONS_MAX) {
      this.#omitted += 1;
      if (!isFailure || this.#minor === 0) return;
      this.#dropMinor();
    }
    this.#exceptions.push(exception);
    if (!isFailure) this.#minor += 1;
  }

  /** Drops the last exception that is not a failure; failures matter more. */
  #dropMinor(): void {
    const at = this.#exceptions.findLastIndex(({ status }) => !FAILURES.has(status));
    this.#exceptions.splice(at, 1);
    this.#minor -= 1;
  }

  #startOf(at: number): number {
    return segmentStart(at, this.#cuts);
  }

  #endOf(start: number): number {
    const nextDay = start - (((start % DAY_MS) + DAY_MS) % DAY_MS) + DAY_MS;
    return Math.min(nextDay, ...this.#cuts.filter((cut) => cut > start));
  }
}

/** Where the segment of that time starts (T1). */
export function segmentStart(at: number, cuts: readonly number[]): number {
  let start = at - (((at % DAY_MS) + DAY_MS) % DAY_MS);
  for (const cut of cuts) if (cut <= at && cut > start) start = cut;
  return start;
}

function flush(segment: OpenSegment): void {
  if (segment.text !== "") segment.digest.update(Buffer.from(segment.text));
  segment.text = "";
}

/** T6 */
function verdictOf(
  counts: AuditCounts,
  { quarantined, rows }: Pick<Statement, "quarantined" | "rows">,
): AuditVerdict {
  if (rows?.some(({ findings }) => findings.length > 0) === true) return "incomplete";
  if (counts.missing + counts.orphan + counts.double > 0) return "incomplete";
  if (counts.unknown > 0) return "undecided";
  return notApplied(counts) + quarantined.rows > 0 ? "accounted" : "complete";
}

/** T2 */
function chainOf(
  subject: StatementSubject,
  from: string | null,
  segments: readonly StatementSegment[],
): string {
  let chain = sha256Hex(canonicalJson({ ...subject, from }));
  for (const { from: start, counts, digest } of segments) {
    chain = sha256Hex(`${chain}${canonicalJson({ from: start, counts, digest })}`);
  }
  return chain;
}

/** T3 */
export function digestOf(statement: object): string {
  const fields = Object.entries(statement).filter(
    ([name]) => name !== "digest" && name !== "signature",
  );
  return sha256Hex(canonicalJson(Object.fromEntries(fields)));
}

/** What is wrong with a statement's digests; null if nothing is. */
export function statementProblem(statement: Statement): string | null {
  const { subject, window, segments, counts, verdict } = statement;
  if (digestOf(statement) !== statement.digest) return "its content does not match its digest";
  if (chainOf(subject, window.from, segments) !== statement.chain) {
    return "its segments do not match its chain";
  }
  const sum = sumCounts(segments.map((segment) => segment.counts));
  if (canonicalJson(sum) !== canonicalJson(counts)) return "its counts do not match its segments";
  return verdictOf(counts, statement) === verdict ? null : "its verdict does not match its counts";
}

function changesOf(
  previous: Statement,
  segments: readonly StatementSegment[],
  exceptions: readonly ListedException[],
  /** What is carried over is not judged again, so it cannot be resolved (T4). */
  isCarried: (exception: ListedException) => boolean,
): StatementChanges {
  const { digest, chain, window } = previous;
  const end = instantMs(window.to);
  const earlier = segments.filter(({ from }) => instantMs(from) < end);
  const before = new Map(previous.segments.map((segment) => [segment.from, segment]));
  const after = new Map(earlier.map((segment) => [segment.from, segment]));
  const starts = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  const changed = starts.filter((from) => before.get(from)?.digest !== after.get(from)?.digest);
  const nameOf = ({ key, versionId, status }: ListedException) =>
    JSON.stringify([key, versionId, status]);
  const old = new Set(previous.exceptions.map(nameOf));
  const inOld = exceptions.filter(({ at }) => instantMs(at) < end);
  const now = new Set(inOld.map(nameOf));
  return {
    digest,
    keyId: previous.signature?.keyId ?? null,
    chain,
    to: window.to,
    unchanged: chainOf(previous.subject, window.from, earlier) === chain,
    segments: changed.map((from) => ({
      from,
      before: before.get(from)?.counts ?? null,
      after: after.get(from)?.counts ?? null,
    })),
    resolved: previous.exceptions.filter(
      (exception) => !now.has(nameOf(exception)) && !isCarried(exception),
    ),
    appeared: inOld.filter((exception) => !old.has(nameOf(exception))),
  };
}

export function instantMs(text: string): number {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : Number.NaN;
}
