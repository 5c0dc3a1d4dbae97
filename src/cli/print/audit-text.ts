// Audit text: what people read about an audit.

import { unreachable } from "../../core/assert.ts";
import { counted } from "../../core/encoding/counted.ts";
import { printable } from "../../core/encoding/printable.ts";
import {
  AUDIT_STATUSES,
  type AuditProgress,
  notApplied,
  type Statement,
} from "../../operate/audits.ts";

/** Exceptions on the screen; the file has all. */
const SHOWN_MAX = 20;

export function auditProgress({ objects, key }: AuditProgress): string {
  return `${objects} objects compared, up to ${printable(key)}`;
}

export function auditLines(statement: Statement): string[] {
  const { subject, window, counts, sink, queue, ledger, digest } = statement;
  const { bucket, prefix, pipeline } = subject;
  const times = `${window.from ?? "the first object"} to ${window.to}`;
  const versions = AUDIT_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const all = versions === 0 ? "no object version" : `${versions} object versions`;
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
    "Rows: not compared; a row that was changed or deleted since its commit is not seen",
    `Verdict: ${verdictText(statement)}`,
  ];
}

/** What a verdict means, in numbers. */
function verdictText({ verdict, counts, quarantined: { rows } }: Statement): string {
  switch (verdict) {
    case "complete":
      return `complete; ${counts.committed} applied, nothing is missing, orphaned or applied twice`;
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

function quarantineLines({ quarantined: { sets, rows } }: Statement): string[] {
  if (rows === 0) return [];
  return [`Quarantine: ${counted(rows, "row")} of ${counted(sets, "object")}, not applied`];
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
      return `Queue: ${messages} messages, read`;
    case "counted":
      return `Queue: ${messages} messages, counted`;
    default:
      return "Queue: not read";
  }
}

function previousLines({ previous }: Statement): string[] {
  if (previous === null) return [];
  const start = `Earlier statement, up to ${previous.to}:`;
  if (previous.unchanged) return [`${start} unchanged; its chain is reused`];
  const { segments, resolved, appeared } = previous;
  return [
    `${start} ${segments.length} days changed, ${resolved.length} exceptions resolved, ` +
      `${appeared.length} appeared`,
  ];
}
