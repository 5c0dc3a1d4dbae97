// Table checkers: the guarantees of tables, quarantine and replays.

import { type Checker, findings } from "../checkers/checker.ts";
import { type TableGuarantee, tableFindings } from "./table-fold.ts";

const PROMISES: Readonly<Record<TableGuarantee, string>> = {
  "rows-elected":
    "After every commit, the table shows all rows of a record or none, and of each key the row " +
    "that the order of events elects.",
  "rows-digested":
    "A check of the rows against the digests of their commits reports nothing, whatever crashed.",
  "trigger-once": "A trigger of the table fires once for each change of a visible row.",
  "quarantine-kept":
    "A row that the schema rejects is in quarantine once, with its line and reason, until it is " +
    "redriven.",
  "leftovers-removed": "Nothing of a dead attempt or of a dropped shadow stays in the database.",
  "promote-loses-nothing":
    "A promotion happens once, and loses no live write: the table shows what the order of events " +
    "elects.",
  "replay-stays-apart":
    "A replay changes no live row, record or message before its promotion, and shares nothing " +
    "with another replay.",
  "replay-same-content":
    "The content of a shadow depends on its frozen inputs only, whatever interrupts the replay.",
};

export const TABLE_CHECKERS: readonly Checker[] = Object.entries(PROMISES).map(
  ([name, promise]) => ({
    name,
    promise,
    check(events, { onReplaced }) {
      const { violations, add } = findings(name);
      if (onReplaced === undefined) return violations;
      for (const { of, at, names, message } of tableFindings(events, onReplaced)) {
        if (of === name) add(at, names, message);
      }
      return violations;
    },
  }),
);
