// No run after commit: a handler starts only after the ledger has answered its consumer that the
// record is not committed. Each answer, a claim or a read, is good for one start. A commit that
// follows the answer is allowed: two deliveries of a record that overlap in two processes may both
// run, and one of them commits.

import { type Checker, findings } from "./checker.ts";

const NAME = "no-run-after-commit";

export const noRunAfterCommit: Checker = {
  name: NAME,
  promise:
    "A handler does not start if its record was committed before its consumer asked the ledger.",
  check(events) {
    const { violations, add } = findings(NAME);
    const committedAt = new Map<string, number>();
    /** Where answers that allow a start are in the history, by process and record. */
    const answers = new Map<string, number[]>();
    for (const [index, event] of events.entries()) {
      if (event.kind === "committed" && !committedAt.has(event.name)) {
        committedAt.set(event.name, index);
      }
      const allows = event.kind === "claimed" || (event.kind === "checked" && !event.exists);
      if (!allows && event.kind !== "handling") continue;
      const { name, actor, at } = event;
      const id = `${actor} ${name}`;
      const open = answers.get(id) ?? [];
      answers.set(id, open);
      if (event.kind !== "handling") {
        open.push(index);
        continue;
      }
      const answeredAt = open.pop() ?? Number.POSITIVE_INFINITY;
      if (answeredAt > (committedAt.get(name) ?? Number.POSITIVE_INFINITY)) {
        add(at, [name], `${actor} started the handler of ${name}, which was committed before`);
      }
    }
    return violations;
  },
};
