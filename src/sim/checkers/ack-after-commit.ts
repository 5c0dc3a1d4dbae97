// Ack after commit: a message is deleted only after all of its records are decided.
//   A record that is too late is decided once the ledger holds it, or the late queue has it.
//   A redriven dead letter is a new message: the earlier decision does not count for it, unless the
//   record has a newer dead letter since. Any other message of a record with a dead letter may be
//   deleted: a message that SQS moved and that was redriven beside the dead letter, or a message
//   with several records, each of which has its own dead letter.

import type { SimDeadLetter } from "../dead-letter.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "ack-after-commit";

export const ackAfterCommit: Checker = {
  name: NAME,
  promise:
    "A message is acknowledged only after each of its records is committed or dead-lettered.",
  check(events) {
    const { violations, add } = findings(NAME);
    const committed = new Set<string>();
    const deadLetterAt = new Map<string, number>();
    const redrivenAt = new Map<string, number>();
    const firstDeliveredAt = new Map<string, number>();
    const newestFence = new Map<string, number>();
    const deadLetters = new Map<string, SimDeadLetter | null>();
    for (const [index, event] of events.entries()) {
      switch (event.kind) {
        case "committed":
        case "late-sent":
          committed.add(event.name);
          break;
        case "held":
          if (event.to === "ledger") committed.add(event.name);
          break;
        case "refused":
          if (event.why === "stale") committed.add(event.name);
          break;
        case "dead-letter":
          deadLetterAt.set(event.name, index);
          newestFence.set(event.name, Math.max(newestFence.get(event.name) ?? 0, event.fence));
          break;
        case "moved-back":
          for (const name of event.names) redrivenAt.set(name, index);
          break;
        case "delivered":
          if (!firstDeliveredAt.has(event.messageId)) firstDeliveredAt.set(event.messageId, index);
          deadLetters.set(event.messageId, event.deadLetter);
          break;
        case "acked":
          for (const name of event.names) {
            if (committed.has(name)) continue;
            const parkedAt = deadLetterAt.get(name);
            const backAt = redrivenAt.get(name) ?? -1;
            const isOld = (firstDeliveredAt.get(event.messageId) ?? index) < backAt;
            if (parkedAt !== undefined && (parkedAt > backAt || isOld)) continue;
            const own = deadLetters.get(event.messageId) ?? null;
            if (parkedAt !== undefined && own?.name !== name) continue; // Not its dead letter.
            if (own !== null && (newestFence.get(name) ?? 0) > own.fence) continue;
            add(
              event.at,
              [name],
              `${event.actor} acknowledged ${name} before its outcome was stored`,
            );
          }
          break;
        default:
      }
    }
    return violations;
  },
};
