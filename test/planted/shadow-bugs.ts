// Shadow bugs: mistakes in promotions and differences, for the shadow world.

import type { PlantedBug } from "./planted-bug.ts";

/** The checker is the first word of a violation of shadow-world.ts. */
export const SHADOW_BUGS: readonly PlantedBug[] = [
  {
    name: "promotion-ignores-newer-events",
    mistake: "A promotion replaces the rows of an object that has a newer live event.",
    file: "src/sinks/table/shadow/shadow-statements.ts",
    find: "THEN w.sequencer < s.sequencer ELSE w.event_time < s.event_time END`;",
    replace: "THEN 1 = 1 ELSE w.event_time < s.event_time END`;",
    checker: "rows",
  },
  {
    name: "promotion-forgets-added-rows",
    mistake: "A promotion removes rows that a quarantine redrive added since.",
    file: "src/sinks/table/shadow/shadow-statements.ts",
    find: "THEN NOT w.added ELSE",
    replace: "THEN 1 = 1 ELSE",
    checker: "rows",
  },
  {
    name: "added-rows-recognized-by-fence",
    mistake: "Added rows are recognized by their fences, which follow the clocks of consumers.",
    file: "src/sinks/table/statements.ts",
    find: "SET added = true",
    replace: "SET added = w.added OR excluded.fence > w.fence",
    checker: "rows",
  },
  {
    name: "promotion-without-an-election",
    mistake: "The visible rows of other objects are not candidates for a key that is opened.",
    file: "src/sinks/table/shadow/shadow-statements.ts",
    find: "moveOwnersTemplate(dialect, live, movedOwners(pair, lids)), // W3",
    replace: 'moveOwnersTemplate(dialect, live, "1 = 0"), // W3',
    checker: "rows",
  },
  {
    name: "promoted-twice",
    mistake: "Of two promotions at the same time, both are carried out.",
    file: "src/sinks/table/shadow/shadow-tables.ts",
    find: "AND state = 'ready' RETURNING id",
    replace: "RETURNING id",
    checker: "once",
  },
  {
    name: "difference-without-removed-rows",
    mistake: "A difference does not look at rows that the replay no longer has.",
    file: "src/sinks/table/shadow/shadow-statements.ts",
    find: "WHERE c._tg_writer IN (SELECT a.lid FROM applied AS a)",
    replace: "WHERE 1 = 0",
    checker: "diff",
  },
];
