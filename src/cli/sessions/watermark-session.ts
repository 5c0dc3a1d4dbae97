// Watermark session: ledger and queues of one pipeline, or the ledger alone with all of them.

import type { Completeness } from "../../ingest/late/complete-up-to.ts";
import { readStoredCompleteness } from "../../ingest/late/complete-up-to.ts";
import { watermarkHolder } from "../../ingest/running/partition-report.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { devNames } from "../../run/dev/dev-setup.ts";
import { openCompleteness } from "../../run/late/open-completeness.ts";
import { ledgerUrl } from "../../run/open/find-server.ts";
import { loadPipeline } from "../../run/open/load-pipeline.ts";
import { openLedger } from "../../run/open/open-ledger.ts";

export interface WatermarkLocation {
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly queue?: string | undefined;
}

export interface PipelineCompleteness extends Completeness, LedgerScope {
  /** Whether queued messages were looked at. */
  readonly looked: boolean;
  /** The partition that holds the watermark back; null if all are idle. */
  readonly partition: string | null;
}

export interface WatermarkSession {
  read(): Promise<PipelineCompleteness[]>;
  close(): Promise<void>;
}

export async function openWatermarkSession(
  file: string | undefined,
  location: WatermarkLocation,
): Promise<WatermarkSession> {
  const pipeline = file === undefined ? null : await loadPipeline(file);
  const url = ledgerUrl(location);
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  const close = () => ledger.close();
  if (pipeline === null) return { read: () => readAll(ledger), close };
  try {
    const { name, generation } = pipeline;
    const scope = { pipeline: name, generation };
    const queue = location.queue ?? pipeline.source.queue ?? devNames(pipeline).queue;
    const opened = await openCompleteness(pipeline, { ...location, ledger: url, queue });
    return {
      async read() {
        const completeness = await opened.completeUpTo();
        return [await described(ledger, scope, completeness, true)];
      },
      async close() {
        await opened.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readAll(ledger: Ledger): Promise<PipelineCompleteness[]> {
  const scopes = await ledger.stats();
  const all: PipelineCompleteness[] = [];
  for (const { pipeline, generation } of scopes) {
    const scope = { pipeline, generation };
    const completeness = await readStoredCompleteness(ledger, scope);
    all.push(await described(ledger, scope, completeness, false));
  }
  return all;
}

async function described(
  ledger: Ledger,
  scope: LedgerScope,
  completeness: Completeness,
  looked: boolean,
): Promise<PipelineCompleteness> {
  const partition = await watermarkHolder(systemPorts, ledger, scope);
  return { ...scope, ...completeness, looked, partition };
}
