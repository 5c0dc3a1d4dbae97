// Retry session: finds the records that a retry means, and retries each.

import { systemPorts } from "../../platform/index.ts";
import { queuesAt, type RetryOutcome, retryRecord } from "../../run/control/retry-record.ts";
import { findRunningCloud } from "../../run/open/endpoint-file.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { ledgerIn } from "../../run/prepare-run.ts";
import { type EventHistory, findHistories } from "../../run/why/event-history.ts";
import { namedPipeline } from "../reports/named-pipeline.ts";

export interface RetryLocation {
  readonly pipeline?: string | undefined;
  readonly generation?: number | undefined;
  readonly ledger?: string | undefined;
  readonly data?: string | undefined;
  readonly queue?: string | undefined;
}

export interface RetriedRecord {
  /** The object, or the record key. */
  readonly name: string;
  readonly outcome: RetryOutcome;
}

const DATA_DEFAULT = ".tidegate";

export async function retryAll(what: string, location: RetryLocation): Promise<RetriedRecord[]> {
  const { data = DATA_DEFAULT, queue } = location;
  const { pipeline, bucket, generation: usual } = await namedPipeline(location.pipeline);
  const generation = location.generation ?? usual;
  const url = location.ledger ?? ledgerIn(data);
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  try {
    const histories = await findHistories(ledger, { what, pipeline, bucket, generation });
    // The messages of another ledger are in other queues.
    const endpoint = location.ledger === undefined ? await findRunningCloud(data) : null;
    const findQueues = async () => {
      if (endpoint === null) return null;
      return { endpoint, queues: queue === undefined ? await queuesAt(endpoint) : [queue] };
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

function nameOf({ object, key }: EventHistory): string {
  return object === null ? key : `s3://${object.bucket}/${object.key}`;
}
