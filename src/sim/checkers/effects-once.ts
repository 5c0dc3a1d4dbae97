// Effects once: per record key and generation. A transactional sink writes once; an idempotent one
// may be told again, of the same record and the same value, and the commit happens once. Once is
// not never, either: what is committed has had its effects, unless a newer change of its object
// has overtaken it, or the pipeline drops what it finds missing.

import { type Checker, findings } from "./checker.ts";

const NAME = "effects-once";

export const effectsOnce: Checker = {
  name: NAME,
  promise:
    "The effects of a record are applied once, not twice and not never, and are those of that " +
    "record.",
  check(events, { drops }) {
    const { found, add } = findings(NAME);
    const written = new Map<string, number>();
    const values = new Map<string, string>();
    const commits = new Map<string, number>();
    const expected = new Map<string, string>();
    const told = new Set<string>();
    for (const event of events) {
      if (event.kind === "object") expected.set(event.name, event.value);
      if (event.kind === "committed") {
        const fence = commits.get(event.name);
        if (fence !== undefined && fence !== event.fence) {
          add(event.at, [event.name], `${event.name} was committed twice, by ${event.actor} again`);
        }
        commits.set(event.name, event.fence);
        if (!event.superseded && !drops && !told.has(event.name)) {
          add(event.at, [event.name], `${event.name} was committed without its effects`);
        }
      }
      if (event.kind === "effect") told.add(event.name);
      if (event.kind !== "effect" || !event.accepted) continue;
      const { name, value, sink, actor, at } = event;
      const fence = written.get(name);
      if (sink === "transactional" && fence !== undefined) {
        add(at, [name], `the effects of ${name} were written twice, by ${actor} again`);
      }
      written.set(name, event.fence);
      const former = values.get(name) ?? expected.get(name);
      if (former !== undefined && former !== value) {
        add(at, [name], `the effect of ${name} was ${JSON.stringify(value)}, not ${former}`);
      }
      values.set(name, value);
    }
    return found;
  },
};
