// History: what happened to an event, and a record that waits for its backoff tried now.

import { type EmbeddedQueues, queuesAt } from "../run/open/embedded-queues.ts";
import { isEmbeddedCloud } from "../run/open/endpoint-file.ts";
import { chooseEndpoint } from "../run/open/find-server.ts";
import { type EventHistory, findHistories } from "./history/event-history.ts";
import { type RetryOutcome, retryRecord } from "./history/retry-record.ts";
import type { Sources } from "./sources.ts";

export type { EventHistory } from "./history/event-history.ts";
export type { RetryOutcome } from "./history/retry-record.ts";

/** A record, and what its retry found or did. */
export interface RetriedRecord {
  /** The object, or the record key. */
  readonly name: string;
  readonly outcome: RetryOutcome;
}

/** What happened to an event; a lookup reads the ledger only. */
export interface EventHistories {
  /**
   * The histories of an event, oldest first. `what` is `s3://bucket/key`, a key in the pipeline's
   * bucket, a business, record or event key, or any part of an event's names.
   */
  find(what: string): Promise<readonly EventHistory[]>;
  /** Retries records that wait for their backoff; on SQS the wait ends by itself. */
  retry(what: string): Promise<readonly RetriedRecord[]>;
}

export function historiesOf(sources: Sources): EventHistories {
  const find = async (what: string) => {
    const bucket = (await sources.pipeline())?.source.bucket;
    return findHistories(await sources.reader(), await sources.scopes(), { what, bucket });
  };
  return {
    find,
    async retry(what) {
      let queues: Promise<EmbeddedQueues | null> | undefined;
      const findQueues = () => {
        queues ??= embeddedQueues(sources);
        return queues;
      };
      const results: RetriedRecord[] = [];
      for (const history of await find(what)) {
        const outcome = await retryRecord(history, sources.clock.now(), findQueues);
        results.push({ name: nameOf(history), outcome });
      }
      return results;
    },
  };
}

/** Null on SQS. */
async function embeddedQueues(sources: Sources): Promise<EmbeddedQueues | null> {
  const { endpoint } = chooseEndpoint("SQS", await sources.server());
  if (endpoint === undefined || !(await isEmbeddedCloud(endpoint))) return null;
  const queue = sources.queueName();
  return { endpoint, queues: queue === null ? await queuesAt(endpoint) : [queue] };
}

function nameOf({ object, key }: EventHistory): string {
  return object === null ? key : `s3://${object.bucket}/${object.key}`;
}
