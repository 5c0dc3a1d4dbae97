// Retry session: finds the records that a retry means, and retries each.

import { systemPorts } from "../../platform/index.ts";
import {
  type EmbeddedQueues,
  queuesAt,
  type RetryOutcome,
  retryRecord,
} from "../../run/control/retry-record.ts";
import { isEmbeddedCloud } from "../../run/open/endpoint-file.ts";
import { chooseEndpoint, findServer, ledgerUrl } from "../../run/open/find-server.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { type EventHistory, findHistories } from "../../run/why/event-history.ts";
import { namedPipeline } from "../reports/named-pipeline.ts";

export interface RetryLocation {
  readonly pipeline?: string | undefined;
  readonly generation?: number | undefined;
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly queue?: string | undefined;
}

export interface RetriedRecord {
  /** The object, or the record key. */
  readonly name: string;
  readonly outcome: RetryOutcome;
}

export async function retryAll(what: string, location: RetryLocation): Promise<RetriedRecord[]> {
  const { pipeline, bucket, generation: usual } = await namedPipeline(location.pipeline);
  const generation = location.generation ?? usual;
  const ledger = await openLedger(ledgerUrl(location), systemPorts, { readOnly: true });
  try {
    const histories = await findHistories(ledger, { what, pipeline, bucket, generation });
    let queues: Promise<EmbeddedQueues | null> | undefined;
    const findQueues = () => {
      queues ??= embeddedQueues(location);
      return queues;
    };
    const results: RetriedRecord[] = [];
    for (const history of histories) {
      const outcome = await retryRecord(history, systemPorts.clock.now(), findQueues);
      results.push({ name: nameOf(history), outcome });
    }
    return results;
  } finally {
    await ledger.close();
  }
}

/** Null on SQS. */
async function embeddedQueues(location: RetryLocation): Promise<EmbeddedQueues | null> {
  const { endpoint } = chooseEndpoint("SQS", await findServer(location));
  if (endpoint === undefined || !(await isEmbeddedCloud(endpoint))) return null;
  const { queue } = location;
  return { endpoint, queues: queue === undefined ? await queuesAt(endpoint) : [queue] };
}

function nameOf({ object, key }: EventHistory): string {
  return object === null ? key : `s3://${object.bucket}/${object.key}`;
}
