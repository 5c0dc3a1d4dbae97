// Statement lines: whether the lines of an audit, as a file, are those of its statement.
//   L1. The text of each line counts, as it is in the file: its digest is in the statement (T1 of
//       statement.ts), by segment and in the order of the file.
//   L2. A segment that the statement carried over was judged by an earlier audit, whose lines are
//       elsewhere. Lines of such a segment are not checked, and the result says how many segments.

import { createDigest, type Digest } from "../core/encoding/hash.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { epochMs } from "../core/units.ts";
import type { AuditStatus } from "../ports/audit.ts";
import { AUDIT_STATUSES, zeroCounts } from "./audit-line.ts";
import { instantMs, type Statement, segmentStart } from "./statement.ts";

export type LinesResult =
  | { readonly kind: "same"; readonly lines: number; readonly carried: number }
  | { readonly kind: "differ"; readonly problem: string };

interface ReadSegment {
  readonly counts: Record<AuditStatus, number>;
  readonly digest: Digest;
}

const FIELDS = 7;

export class StatementLines {
  readonly #statement: Statement;
  readonly #cuts: readonly number[];
  readonly #carried: ReadonlySet<string>;
  readonly #read = new Map<string, ReadSegment>();
  #lines = 0;
  #problem: string | null = null;

  constructor(statement: Statement) {
    this.#statement = statement;
    this.#cuts = statement.cuts.map(instantMs);
    const carried = statement.segments.filter((segment) => segment.carried === true);
    this.#carried = new Set(carried.map(({ from }) => from));
  }

  /** Adds the next line, without its line feed. */
  add(text: string): void {
    this.#lines += 1;
    const line = parseLine(text);
    if (line === null) {
      this.#problem ??= `line ${this.#lines} is not a line of an audit`;
      return;
    }
    const from = formatInstant(epochMs(segmentStart(line.at, this.#cuts)));
    if (this.#carried.has(from)) return; // L2
    const segment = this.#read.get(from) ?? {
      counts: zeroCounts(),
      digest: createDigest("sha256"),
    };
    this.#read.set(from, segment);
    segment.counts[line.status] += 1;
    segment.digest.update(Buffer.from(`${text}\n`)); // L1
  }

  end(): LinesResult {
    const problem = this.#problem ?? this.#difference();
    if (problem !== null) return { kind: "differ", problem };
    return { kind: "same", lines: this.#lines, carried: this.#carried.size };
  }

  #difference(): string | null {
    const own = this.#statement.segments.filter(({ from }) => !this.#carried.has(from));
    for (const { from, counts, digest } of own) {
      const read = this.#read.get(from);
      if (read === undefined) return `it has no lines of the segment from ${from}`;
      for (const status of AUDIT_STATUSES) {
        if (read.counts[status] === counts[status]) continue;
        const numbers = `${read.counts[status]} instead of ${counts[status]}`;
        return `the segment from ${from} has ${numbers} lines with the status ${status}`;
      }
      if (Buffer.from(read.digest.digest()).toString("hex") !== digest) {
        return `the lines of the segment from ${from} do not match its digest`;
      }
      this.#read.delete(from);
    }
    const [more] = this.#read.keys();
    return more === undefined ? null : `the statement has no segment from ${more}`;
  }
}

/** Time and status of a line; null if it is none. */
function parseLine(text: string): { readonly at: number; readonly status: AuditStatus } | null {
  try {
    const fields: unknown = JSON.parse(text);
    if (!Array.isArray(fields) || fields.length !== FIELDS) return null;
    const [, , , , at, status] = fields as unknown[];
    const isKnown = (AUDIT_STATUSES as readonly unknown[]).includes(status);
    if (!Number.isSafeInteger(at) || !isKnown) return null;
    return { at: at as number, status: status as AuditStatus };
  } catch {
    return null;
  }
}
