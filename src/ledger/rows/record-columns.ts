// Record columns: maps a record's state to the flat row that every store saves, and back.
//   K1. Fields that decide transitions (state, fence, lease, expiry) have their own columns; fields
//       that are only shown to people are JSON in `detail`.

import { assert, present, unreachable } from "../../core/assert.ts";
import { epochMs } from "../../core/units.ts";
import type { Failure, StoredRecord } from "../../ports/record.ts";
import { fenceOf } from "../record-state.ts";

export interface RecordColumns {
  readonly state: string;
  readonly fence: number;
  readonly attempts: number;
  readonly seenAt: number;
  readonly changedAt: number;
  readonly expiresAt: number;
  /** Claimed records only; else 0. */
  readonly leaseUntil: number;
  readonly owner: string | null;
  readonly digest: string | null;
  readonly detail: string | null;
}

export function toColumns(record: StoredRecord): RecordColumns {
  const { kind: state, fence, attempts, seenAt, changedAt, expiresAt } = record;
  let leaseUntil = 0;
  let owner: string | null = null;
  let digest: string | null = null;
  let detail: string | null = null;
  switch (record.kind) {
    case "claimed":
      ({ leaseUntil, owner } = record);
      break;
    case "released":
      break;
    case "failed":
    case "parked":
      detail = JSON.stringify(record.failure);
      break;
    case "committed": {
      const { effects, superseded } = record;
      ({ digest } = record);
      if (effects !== null || superseded) detail = JSON.stringify({ effects, superseded });
      break;
    }
    default:
      return unreachable(record);
  }
  return {
    state,
    fence,
    attempts,
    seenAt,
    changedAt,
    expiresAt,
    leaseUntil,
    owner,
    digest,
    detail,
  };
}

/** The values of a row, in the order of the columns. */
export function columnValues(record: StoredRecord) {
  const row = toColumns(record);
  const { state, fence, attempts, seenAt, changedAt, expiresAt, leaseUntil } = row;
  const { owner, digest, detail } = row;
  return [
    state,
    fence,
    attempts,
    seenAt,
    changedAt,
    expiresAt,
    leaseUntil,
    owner,
    digest,
    detail,
  ] as const;
}

export function fromColumns(row: RecordColumns): StoredRecord {
  if (row.state === "committed") return committedOf(row);
  const common = {
    fence: fenceOf(row.fence),
    attempts: row.attempts,
    seenAt: epochMs(row.seenAt),
    changedAt: epochMs(row.changedAt),
    expiresAt: epochMs(row.expiresAt),
  };
  const { state: kind } = row;
  switch (kind) {
    case "claimed": {
      const owner = present(row.owner, "the owner of a claimed record");
      return { kind, ...common, owner, leaseUntil: epochMs(row.leaseUntil) };
    }
    case "released":
      return { kind, ...common };
    case "failed":
    case "parked": {
      const failure = JSON.parse(present(row.detail, "the failure of a record")) as Failure;
      return { kind, ...common, failure };
    }
    default:
      assert(false, `a record is in state ${kind}`);
  }
}

/** Most records are committed, and lists read all of them, so no part of it is built twice. */
function committedOf(row: RecordColumns): StoredRecord {
  const detail = row.detail === null ? null : JSON.parse(row.detail);
  return {
    kind: "committed",
    fence: fenceOf(row.fence),
    attempts: row.attempts,
    seenAt: epochMs(row.seenAt),
    changedAt: epochMs(row.changedAt),
    expiresAt: epochMs(row.expiresAt),
    digest: present(row.digest, "the digest of a committed record"),
    effects: detail?.effects ?? null,
    superseded: detail?.superseded ?? false,
  };
}
