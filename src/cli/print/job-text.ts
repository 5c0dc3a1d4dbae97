// Job text: batches and jobs as lines for people.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { reasonOf } from "../../core/errors.ts";
import type { BatchJob, BatchReport, RegisterBatchResult } from "../../operate/jobs.ts";

/** Jobs of a batch that are not done. */
export function openOf({ open }: BatchReport): number {
  return open.available + open.claimed + open.failed;
}

export function batchLine(report: BatchReport): string {
  const { name, state, items, done, open, completedAt } = report;
  if (completedAt !== null) return `${name}: complete, ${items} of ${items} done`;
  const parts = Object.entries(open)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`);
  const rest = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  const note = state === "registering" ? "registering; not all jobs are stored yet, " : "open, ";
  return `${name}: ${note}${done} of ${items} done${rest}`;
}

export function jobLine({
  name,
  status,
  sentAt,
  epoch,
  attempts,
  owner,
  reason,
}: BatchJob): string {
  const parts = [name, status];
  if (status === "completed") return parts.join("  ");
  parts.push(sentAt === null ? "not sent" : `sent ${formatInstant(sentAt)}`);
  if (epoch > 0) parts.push(`republished ${epoch}x`);
  if (attempts > 0) parts.push(`attempts ${attempts}`);
  if (owner !== null) parts.push(`by ${owner}`);
  if (reason !== null) parts.push(reason);
  return parts.join("  ");
}

export function resultJson(result: RegisterBatchResult): string {
  if (result.kind === "conflict") return JSON.stringify(result);
  const failed = result.failed === null ? null : reasonOf(result.failed);
  return JSON.stringify({ ...result, failed });
}
