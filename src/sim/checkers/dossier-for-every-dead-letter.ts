// A dossier for every dead letter: whoever finds one can look up why it is there. What SQS moved by
// itself, because it was received too often, is not ours and has none.

import { type Checker, findings } from "./checker.ts";

const NAME = "dossier-for-every-dead-letter";

export const dossierForEveryDeadLetter: Checker = {
  name: NAME,
  promise:
    "A record is given up on together with its dossier, and only then becomes a dead letter.",
  check(events) {
    const { found, add } = findings(NAME);
    const parked = new Set<string>();
    for (const event of events) {
      if (event.kind === "parked") {
        if (event.dossier) parked.add(event.name);
        else add(event.at, [event.name], `${event.name} was given up on without a dossier`);
      } else if (event.kind === "dead-letter" && !parked.has(event.name)) {
        add(event.at, [event.name], `${event.name} became a dead letter before it had a dossier`);
      }
    }
    return found;
  },
};
