// Backfill text: what people read about a backfill.

import type { BackfillProgress, BackfillResult } from "../../operate/backfill.ts";

const SECOND_MS = 1_000;
const MINUTE_S = 60;

export function progressLine({ listed, done, skipped, total, remainingMs }: BackfillProgress) {
  const of = total === null ? "" : ` of ${total}`;
  const rest = remainingMs === null ? "" : `; about ${spanText(remainingMs)} left`;
  return `${listed}${of} objects: ${done} done, ${skipped} skipped${rest}`;
}

export function backfillSummary(result: BackfillResult, dryRun: boolean): string[] {
  const { listed, outside, skipped, noticed, done, unfinished, continued } = result;
  const lines = [
    `${listed} objects listed`,
    `  ${dryRun ? "would be ingested" : "ingested"}: ${done}`,
    `  skipped, as the ledger has them: ${skipped}`,
    `  left to their own events, which failed or are in flight: ${noticed}`,
    `  outside of the times: ${outside}`,
  ];
  if (unfinished > 0) lines.push(`  not done, run the command again: ${unfinished}`);
  if (continued) lines.push("  (continued a backfill that did not end)");
  return lines;
}

function spanText(ms: number): string {
  const all = Math.ceil(ms / SECOND_MS);
  return all < 2 * MINUTE_S ? `${all} s` : `${Math.ceil(all / MINUTE_S)} min`;
}
