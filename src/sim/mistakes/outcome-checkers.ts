// Outcome checkers: what a mistake leads to, in the terms of its user: a record is lost, or its
// effect happens twice. They excuse nothing: a message that expires is lost, too.
//   O1. Probes are left out: the world sends them for its own checks.

import { type Checker, findings } from "../checkers/checker.ts";

const RECORD = /^e\d+$/; // O1

export const neverLost: Checker = {
  name: "never-lost",
  promise: "Every record takes effect, or is still in a queue or a dead-letter queue.",
  check(events) {
    const { violations, add } = findings(this.name);
    const accepted = new Set<string>();
    const settled = new Set<string>();
    for (const event of events) {
      if (event.kind === "registered" || event.kind === "sent") accepted.add(event.name);
      if (event.kind === "effect" && event.accepted) settled.add(event.name);
      if (event.kind !== "end") continue;
      for (const { name } of event.waiting) settled.add(name);
      for (const name of accepted) {
        if (settled.has(name) || !RECORD.test(name)) continue;
        add(event.at, [name], `${name} is lost: it took no effect and is in no queue`);
      }
    }
    return violations;
  },
};

export const neverDoubled: Checker = {
  name: "never-doubled",
  promise: "The effect of a record happens once.",
  check(events) {
    const { violations, add } = findings(this.name);
    const applied = new Set<string>();
    for (const event of events) {
      if (event.kind !== "effect" || !event.accepted || !RECORD.test(event.name)) continue;
      if (applied.has(event.name)) {
        add(event.at, [event.name], `the effect of ${event.name} happened twice`);
      }
      applied.add(event.name);
    }
    return violations;
  },
};
