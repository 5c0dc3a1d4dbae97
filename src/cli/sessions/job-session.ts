// Job session: what the commands on jobs work on. An outbox, the ledger of the consuming pipeline,
// and the queue or topic, opened on demand.
//   J1. The outbox is in the ledger's store unless the command names another. DynamoDB keeps them
//       in separate tables, so there it must be named.

import { TidegateError } from "../../core/errors.ts";
import type { OwnDecoding } from "../../ingest/spec/own-source.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Outbox } from "../../ports/outbox.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { createJobRegistry, type JobRegistry } from "../../produce/jobs.ts";
import { findServer, ledgerUrl } from "../../run/open/find-server.ts";
import { loadPipeline } from "../../run/open/load-pipeline.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { openOutbox } from "../../run/open/open-outbox.ts";
import { type OpenedTarget, openTarget } from "../../run/open/open-target.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";

export interface JobLocation {
  readonly pipeline?: string | undefined;
  readonly generation?: number | undefined;
  readonly outbox?: string | undefined;
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly queue?: string | undefined;
  readonly topic?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

export interface JobSession {
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  readonly scope: LedgerScope;
  readonly own: OwnDecoding | null;
  readonly registry: JobRegistry;
  /** The name of the queue or topic, without opening it. */
  readonly targetName: string;
  openTarget(): Promise<OpenedTarget["target"]>;
  close(): Promise<void>;
}

const PIPELINE_FILE = /\.m?[jt]s$/;

/** The outbox that the flags name (J1). */
export function outboxUrl(location: JobLocation): string {
  if (location.outbox !== undefined) return location.outbox;
  const url = ledgerUrl(location);
  if (parseStoreUrl(url, "ledger").store !== "dynamodb") return url;
  const message = "an outbox on DynamoDB has its own table; name it with --outbox";
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** Opens the queue or topic that the flags name. */
export async function openTargetOf(location: JobLocation): Promise<OpenedTarget> {
  const { queue, topic } = location;
  return openTarget({ queue, topic, server: await findServer(location) });
}

export async function openJobSession(location: JobLocation): Promise<JobSession> {
  const named = await readPipeline(location);
  const queue = location.topic === undefined ? (location.queue ?? named.queue) : undefined;
  const targetName = nameOf(queue ?? location.topic);
  const outbox = await openOutbox(outboxUrl(location), systemPorts);
  const closers: (() => Promise<void>)[] = [() => outbox.close()];
  const close = async () => {
    for (let next = closers.pop(); next !== undefined; next = closers.pop()) await next();
  };
  try {
    const ledger = await openLedger(ledgerUrl(location), systemPorts, { migrate: false });
    closers.push(() => ledger.close());
    const { scope, own } = named;
    const { clock } = systemPorts;
    const registry = createJobRegistry({ outbox, ledger, clock }, { target: targetName, scope });
    return {
      outbox,
      ledger,
      scope,
      own,
      registry,
      targetName,
      async openTarget() {
        const opened = await openTargetOf({ ...location, queue: queue ?? undefined });
        closers.push(opened.close);
        return opened.target;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The last part of a name, URL or ARN, which is the name in the outbox. */
function nameOf(target: string | null | undefined): string {
  const name = target?.split(/[/:]/).at(-1) ?? "";
  if (name !== "") return name;
  const message = "the queue of the jobs is unknown; name it with --queue, or --topic for a topic";
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

async function readPipeline({ pipeline: given, generation }: JobLocation) {
  if (given === undefined) {
    const message = "the pipeline that processes the jobs is unknown; name it with --pipeline";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  if (!PIPELINE_FILE.test(given)) {
    return { scope: { pipeline: given, generation: generation ?? 0 }, queue: null, own: null };
  }
  const { name, generation: usual, source } = await loadPipeline(given);
  const { queue, own } = source;
  return { scope: { pipeline: name, generation: generation ?? usual }, queue, own };
}
