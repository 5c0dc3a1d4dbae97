// Event sender: sends lineage events to a file or an HTTP endpoint, beside the pipeline.
//   E1. It never blocks, and never throws into the pipeline. Events wait in a queue of at most
//       EVENTS_MAX; what does not fit, or cannot be sent, is counted and logged.
//   E2. Events are sent one after the other, so that a START precedes its end. A failed one is
//       tried SEND_TRIES times with backoff; the next ones wait meanwhile.
//   E3. Closing waits for at most CLOSE_MS. An endpoint that is down must not delay a shutdown.

import { type DurationMs, durationMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** Events that wait to be sent (E1). */
export const EVENTS_MAX = 100;
/** Tries per event (E2). */
export const SEND_TRIES = 5;
const FIRST_BACKOFF_MS = 500;
/** How long closing waits for what is queued (E3). */
export const CLOSE_MS: DurationMs = seconds(5);

/** Sends one event; a rejection is retried. */
export type SendEvent = (event: string, signal: AbortSignal) => Promise<void>;

export interface EventSender {
  /** Queues an event and returns immediately (E1). */
  add(event: string): void;
  /** Sends what is queued, then ends. Never rejects. */
  close(): Promise<void>;
}

export function createEventSender(
  ports: { readonly clock: Clock; readonly telemetry: Telemetry },
  { send, lostMetric }: { readonly send: SendEvent; readonly lostMetric: string },
): EventSender {
  const { clock, telemetry } = ports;
  const queue: string[] = [];
  const ending = new AbortController();
  let working: Promise<void> | null = null;

  function lost(count: number, reason: string): void {
    telemetry.count(lostMetric, count);
    telemetry.log("warn", `lineage events were not sent: ${reason}`, { count });
  }

  async function trySend(event: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await send(event, ending.signal);
        return;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (tries >= SEND_TRIES || ending.signal.aborted) return lost(1, reason); // E1
        const waitMs = durationMs(FIRST_BACKOFF_MS * 2 ** (tries - 1));
        await clock.sleep(waitMs, ending.signal).catch(() => undefined);
      }
    }
  }

  async function work(): Promise<void> {
    for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
      await trySend(event); // E2
    }
    working = null;
  }

  return {
    add(event) {
      if (ending.signal.aborted || queue.length >= EVENTS_MAX) {
        lost(1, `more than ${EVENTS_MAX} are waiting`);
        return;
      }
      queue.push(event);
      working ??= work();
    },
    async close() {
      const over = new AbortController();
      const deadline = clock.sleep(CLOSE_MS, over.signal).catch(() => undefined);
      await Promise.race([working ?? Promise.resolve(), deadline]); // E3
      over.abort();
      ending.abort();
      if (queue.length > 0) lost(queue.splice(0).length, "the pipeline ended first");
    },
  };
}
