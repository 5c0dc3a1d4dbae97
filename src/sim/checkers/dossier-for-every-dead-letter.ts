// A dossier for every dead letter: the reader of a dead letter can look up why it is there.
// Messages that SQS moved by itself, because they were received too often, have no dossier.

import { type Checker, findings } from "./checker.ts";

const NAME = "dossier-for-every-dead-letter";

export const dossierForEveryDeadLetter: Checker = {
  name: NAME,
  promise: "A record is parked together with its dossier, and only then becomes a dead letter.",
  check(events) {
    const { violations, add } = findings(NAME);
    const parked = new Set<string>();
    for (const event of events) {
      if (event.kind === "parked") {
        if (event.dossier) parked.add(event.name);
        else add(event.at, [event.name], `${event.name} was parked without a dossier`);
      } else if (event.kind === "dead-letter" && !parked.has(event.name)) {
        add(event.at, [event.name], `${event.name} became a dead letter before it had a dossier`);
      }
    }
    return violations;
  },
};
