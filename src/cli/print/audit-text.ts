// Audit text: what people read about an audit.

import { unreachable } from "../../core/assert.ts";
import { counted } from "../../core/encoding/counted.ts";
import { printable } from "../../core/encoding/printable.ts";
import {
  AUDIT_STATUSES,
  type AuditProgress,
  notApplied,
  type RowFinding,
  type Statement,
} from "../../operate/audits.ts";

/** Exceptions on the screen; the file has all. */
const SHOWN_MAX = 20;

export function auditProgress({ objects, key }: AuditProgress): string {
  return `${counted(objects, "object")} compared, up to ${printable(key)}`;
}

export function auditLines(statement: Statement): string[] {
  const { subject, window, counts, sink, queue, ledger, digest } = statement;
  const { bucket, prefix, pipeline } = subject;
  const times = `${window.from ?? "the first object"} to ${window.to}`;
  const versions = AUDIT_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const all = versions === 0 ? "no object version" : counted(versions, "object version");
  return [
    `Pipeline ${pipeline}, s3://${bucket}/${printable(prefix)}, ${times}: ${all}`,
    ...AUDIT_STATUSES.filter((status) => counts[status] > 0).map(
      (status) => `  ${status.padEnd(14)} ${counts[status]}`,
    ),
    ...exceptionLines(statement),
    sink.checked ? `Sink: compared with ${sink.what}` : `Sink: not checked, as ${sink.what}`,
    queueLine(queue),
    `Ledger: forgets before ${ledger.forgetsBefore}`,
    ...previousLines(statement),
    `Digest: ${digest}${statement.signature === null ? "" : ", signed"}`,
    ...quarantineLines(statement),
    ...rowLines(statement),
    `Verdict: ${verdictText(statement)}`,
  ];
}

/** What a verdict means, in numbers. */
function verdictText(statement: Statement): string {
  const { verdict, counts } = statement;
  const { rows } = statement.quarantined;
  switch (verdict) {
    case "complete":
      return completeText(statement);
    case "accounted": {
      const parts = [
        `${counts.committed} applied`,
        ...(notApplied(counts) > 0 ? [`${notApplied(counts)} not applied`] : []),
        ...(rows > 0 ? [`${counted(rows, "row")} quarantined`] : []),
      ];
      return `accounted for: ${parts.join(", ")}`;
    }
    case "incomplete":
      return "INCOMPLETE";
    case "undecided":
      return "UNDECIDED; some objects cannot be judged";
    default:
      return unreachable(verdict);
  }
}

function completeText({ counts, rows }: Statement): string {
  const what = "nothing is missing, orphaned or applied twice";
  const undigested = rows?.some(({ notCompared, undigested: objects, ofMessages }) => {
    return notCompared !== null || objects + ofMessages > 0;
  });
  const tables =
    rows === null
      ? "rows not compared"
      : undigested === true
        ? "rows as committed, as far as they have digests"
        : "rows as committed";
  return `complete; ${counts.committed} applied, ${what}; ${tables}`;
}

function rowLines({ rows }: Statement): string[] {
  if (rows === null) {
    return ["Rows: not compared; a row changed or deleted since its commit is not seen (--rows)"];
  }
  return rows.flatMap(({ table, notCompared, rows: count, digested, findings, ...check }) => {
    if (notCompared !== null) return [`Rows of ${table}: not compared, as ${notCompared}`];
    const without = [
      ...(check.undigested > 0 ? [counted(check.undigested, "object")] : []),
      ...(check.ofMessages > 0 ? [`${counted(check.ofMessages, "row")} of messages`] : []),
    ];
    const rest = without.length === 0 ? "" : `; ${without.join(" and ")} without a digest`;
    const shown = findings.slice(0, SHOWN_MAX).map(findingLine);
    const more = findings.length - shown.length;
    return [
      `Rows of ${table}: ${counted(count, "row")}, ${counted(digested, "object")} compared${rest}`,
      ...(more > 0 ? [...shown, `  and ${more} more; see --out`] : shown),
    ];
  });
}

const FINDINGS = {
  missing: "was committed, and is not in the table",
  added: "is in the table, and was never committed",
  changed: "has other rows than it wrote: a row was changed or removed since",
  misowned: "is visible, although another writer of the row should be",
} as const satisfies Record<RowFinding["kind"], string>;

function findingLine({ kind, table, key, object }: RowFinding): string {
  const row = key === null ? "" : `row ${printable(key)}`;
  const of = object === null ? "" : printable(object);
  const what = row === "" ? of : `${row}${of === "" ? "" : ` of ${of}`}`;
  return `  ${kind.toUpperCase()} ${table}: ${what} ${FINDINGS[kind]}`;
}

function quarantineLines({ quarantined: { sets, rows, segments } }: Statement): string[] {
  if (rows === 0) return [];
  const carried = segments.some((segment) => segment.carried === true)
    ? "; some as the earlier statement says, which the ledger has forgotten since"
    : "";
  const all = `${counted(rows, "row")} of ${counted(sets, "object")}`;
  return [`Quarantine: ${all}, not applied${carried}`];
}

function exceptionLines({ exceptions, exceptionsOmitted }: Statement): string[] {
  const shown = exceptions.slice(0, SHOWN_MAX).map(({ key, versionId, status, reason }) => {
    const version = versionId === null ? "" : ` (${printable(versionId)})`;
    return `  ${status.toUpperCase()} ${printable(key)}${version}: ${reason}`;
  });
  const more = exceptions.length + exceptionsOmitted - shown.length;
  return more > 0 ? [...shown, `  and ${more} more; see --out and --lines`] : shown;
}

function queueLine({ read, messages }: Statement["queue"]): string {
  switch (read) {
    case "exact":
      return `Queue: ${countedMessages(messages)}, read`;
    case "counted":
      return `Queue: ${countedMessages(messages)}, counted`;
    default:
      return "Queue: not read";
  }
}

function countedMessages(messages: number | null): string {
  return counted(messages ?? 0, "message");
}

function previousLines({ previous }: Statement): string[] {
  if (previous === null) return [];
  const start = `Earlier statement, up to ${previous.to}:`;
  if (previous.unchanged) return [`${start} unchanged; its chain is reused`];
  const { segments, resolved, appeared } = previous;
  return [
    `${start} ${counted(segments.length, "day")} changed, ` +
      `${counted(resolved.length, "exception")} resolved, ` +
      `${appeared.length} appeared`,
  ];
}
