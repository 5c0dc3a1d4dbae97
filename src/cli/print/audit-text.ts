// Audit text: what people read about an audit.

import { printable } from "../../core/encoding/printable.ts";
import { AUDIT_STATUSES, type AuditProgress, type Statement } from "../../operate/audits.ts";

/** Exceptions on the screen; the file has all. */
const SHOWN_MAX = 20;

export function auditProgress({ objects, key }: AuditProgress): string {
  return `${objects} objects compared, up to ${printable(key)}`;
}

export function auditLines(statement: Statement): string[] {
  const { subject, window, counts, verdict, sink, queue, ledger, digest } = statement;
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
    `Verdict: ${VERDICTS[verdict]}`,
  ];
}

const VERDICTS: Readonly<Record<Statement["verdict"], string>> = {
  complete: "complete; nothing is missing, orphaned or applied twice",
  incomplete: "INCOMPLETE",
  undecided: "UNDECIDED; some objects cannot be judged",
};

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
