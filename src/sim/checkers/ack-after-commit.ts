// Ack after commit: a message is deleted only when all of its records are decided.
//   A dead letter that was brought back is a new message: for it, the old decision counts no more,
//   unless the record has another dead letter since, which speaks for itself. Any other message of
//   a record with a dead letter may go: one that SQS moved and that came back beside the letter, or
//   one with several records, whose letters are their own.

import type { SimDeadLetter } from "../dead-letter.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "ack-after-commit";

export const ackAfterCommit: Checker = {
  name: NAME,
  promise:
    "A message is acknowledged only after each of its records is committed or dead-lettered.",
  check(events) {
    const { found, add } = findings(NAME);
    const committed = new Set<string>();
    const letterAt = new Map<string, number>();
    const backAt = new Map<string, number>();
    const firstSeen = new Map<string, number>();
    const newestLetter = new Map<string, number>();
    const letters = new Map<string, SimDeadLetter | null>();
    for (const [index, event] of events.entries()) {
      switch (event.kind) {
        case "committed":
          committed.add(event.name);
          break;
        case "refused":
          if (event.why === "stale") committed.add(event.name);
          break;
        case "dead-letter":
          letterAt.set(event.name, index);
          newestLetter.set(event.name, Math.max(newestLetter.get(event.name) ?? 0, event.fence));
          break;
        case "moved-back":
          for (const name of event.names) backAt.set(name, index);
          break;
        case "delivered":
          if (!firstSeen.has(event.messageId)) firstSeen.set(event.messageId, index);
          letters.set(event.messageId, event.letter);
          break;
        case "acked":
          for (const name of event.names) {
            if (committed.has(name)) continue;
            const letter = letterAt.get(name);
            const back = backAt.get(name) ?? -1;
            const isOld = (firstSeen.get(event.messageId) ?? index) < back;
            if (letter !== undefined && (letter > back || isOld)) continue;
            const own = letters.get(event.messageId) ?? null;
            if (letter !== undefined && own?.name !== name) continue; // The letter is another.
            if (own !== null && (newestLetter.get(name) ?? 0) > own.fence) continue;
            add(event.at, [name], `${event.actor} acknowledged ${name} before it was decided`);
          }
          break;
        default:
      }
    }
    return found;
  },
};
