// Batch columns: maps table rows to batches and items; SQLite and PostgreSQL use the same columns.

import { epochMs } from "../../core/units.ts";
import type { ExpectedItem, JobBatch } from "../../ports/batches.ts";

const instant = (value: unknown) => (value === null ? null : epochMs(Number(value)));

export function fromBatchColumns(columns: Readonly<Record<string, unknown>>): JobBatch {
  return {
    name: String(columns.name),
    id: String(columns.id),
    itemCount: Number(columns.item_count),
    digest: String(columns.digest),
    openedAt: epochMs(Number(columns.opened_at)),
    sealedAt: instant(columns.sealed_at),
    completedAt: instant(columns.completed_at),
    expiresAt: epochMs(Number(columns.expires_at)),
  };
}

/** The values of a batch's row, in the order of the columns. */
export function toBatchColumns(target: string, batch: JobBatch) {
  return [
    target,
    batch.name,
    batch.id,
    batch.itemCount,
    batch.digest,
    batch.openedAt,
    batch.sealedAt,
    batch.completedAt,
    batch.expiresAt,
  ] as const;
}

export function fromItemColumns(columns: Readonly<Record<string, unknown>>): ExpectedItem {
  return { name: String(columns.name), key: String(columns.key) };
}
