// T14: PUT A, PUT B, PUT A on an unversioned key. With (bucket, key, etag, size) as the identity,
// the third event is a "duplicate" of the first, and downstream keeps B.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObjectEvent } from "../../src/core/events/object-event.ts";
import { compareSequencers } from "../../src/core/events/sequencer.ts";
import { eventOf, notificationOf } from "../support/traps/message.ts";

const A = { eTag: "0cc175b9c0f1b6a831c399e269772661", size: 1 };
const B = { eTag: "92eb5ffee6ae2fec3ad71c777531578f", size: 1 };
const puts = [
  eventOf(notificationOf({ ...A, sequencer: "0065543A8B" })),
  eventOf(notificationOf({ ...B, sequencer: "0065543A8B01" })),
  eventOf(notificationOf({ ...A, sequencer: "0065543A8C" })),
] as const;

/** The minimal consumer: delivery identity, and the sequencer applied last. */
function apply(deliveries: readonly ObjectEvent[]): string | null {
  const delivered = new Set<string>();
  let applied: ObjectEvent | undefined;
  for (const event of deliveries) {
    if (delivered.has(event.event_key)) continue;
    delivered.add(event.event_key);
    const order = compareSequencers(applied?.sequencer ?? "", event.sequencer ?? "");
    if (applied === undefined || order === -1) applied = event;
  }
  return applied?.etag ?? null;
}

describe("T14: the third write is not the first", () => {
  test("three writes are three events, of which two leave the same state", () => {
    expect(new Set(puts.map((event) => event.event_key)).size).toBe(3);
    expect(puts[2].idempotency_key).toBe(puts[0].idempotency_key);
    expect(puts[1].idempotency_key).not.toBe(puts[0].idempotency_key);
  });

  test("in any order and with any duplicates, A remains", () => {
    const extra = fc.array(fc.constantFrom(...puts), { maxLength: 6 });
    const schedule = extra.chain((more) =>
      fc.shuffledSubarray([...puts, ...more], { minLength: 3 + more.length }),
    );
    fc.assert(
      fc.property(schedule, (deliveries) => {
        expect(apply(deliveries)).toBe(A.eTag);
      }),
    );
  });

  test("a redelivery is the same event", () => {
    const again = eventOf(notificationOf({ ...A, sequencer: "0065543A8B" }));
    expect(again).toEqual(puts[0]);
  });
});
