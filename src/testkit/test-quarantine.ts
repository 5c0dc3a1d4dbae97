// Test quarantine: the quarantined rows of a test pipeline.

import { durationMs } from "../core/units.ts";
import {
  type QuarantinedSet,
  quarantinedSets,
  type RedriveSetsPorts,
  redriveSets,
} from "../ingest/quarantine/quarantine-access.ts";
import type { LedgerScope } from "../ports/record.ts";

/** A row that the schema of a pipeline rejected. */
export interface QuarantinedRow {
  /** `s3://bucket/key` */
  readonly object: string;
  /** The line of the file, or the position of the row in JSON and Parquet. */
  readonly line: number;
  readonly reason: string;
  /** As it was read. */
  readonly row: unknown;
  /** How often it was tried. */
  readonly tries: number;
}

export interface TestQuarantine {
  rows(): Promise<QuarantinedRow[]>;
  /** Sends all rows back to the queue. */
  redrive(): Promise<void>;
}

export function createTestQuarantine(ports: RedriveSetsPorts, scope: LedgerScope): TestQuarantine {
  return {
    async rows() {
      const listed: QuarantinedRow[] = [];
      for await (const { facts, rows, ref } of quarantinedSets(ports.ledger, scope)) {
        const object = `s3://${facts.shown.bucket}/${facts.shown.key}`;
        const { tries } = ref;
        for (const { line, reason, row } of rows) listed.push({ object, line, reason, row, tries });
      }
      return listed;
    },
    async redrive() {
      const sets: QuarantinedSet[] = [];
      for await (const set of quarantinedSets(ports.ledger, scope)) sets.push(set);
      const options = { followMs: durationMs(0) };
      for await (const _ of redriveSets(ports, scope, sets, options));
    },
  };
}
