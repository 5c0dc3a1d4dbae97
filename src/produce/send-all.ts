// Send all: sends a stream of events through a producer, with bounded memory.
//   A1. The next event is read only when there is capacity for it; results are in event order.
//   A2. A failed event is a result and does not end the others.

import type { EventInput } from "./prepare.ts";
import type { Producer, SendResult } from "./producer.ts";

/** An event that could not be sent; those after it are sent regardless. */
export interface SendFailure {
  readonly kind: "failed";
  readonly event: EventInput;
  readonly error: unknown;
}

const OPEN_MAX_DEFAULT = 100;

/**
 * Sends a stream of events with bounded memory. Yields one result per event, in event order; a
 * failed event is a result and does not end the stream.
 */
export async function* sendAll(
  producer: Producer,
  events: Iterable<EventInput> | AsyncIterable<EventInput>,
  options: { readonly openMax?: number } = {},
): AsyncGenerator<SendResult | SendFailure, void, undefined> {
  const { openMax = OPEN_MAX_DEFAULT } = options;
  const open: Promise<SendResult | SendFailure>[] = [];
  for await (const event of events) {
    const sending = producer
      .send(event)
      .catch((error: unknown): SendFailure => ({ kind: "failed", event, error })); // A2
    open.push(sending);
    const first = open[0];
    if (open.length < openMax || first === undefined) continue;
    yield await first; // A1
    open.shift();
  }
  for (const sending of open) yield await sending;
}
