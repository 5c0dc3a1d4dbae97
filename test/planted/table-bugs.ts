// Table bugs: mistakes in staging, redrives, elections, shadows and promotions. Only worlds with
// tables can show them.

import type { PlantedBug } from "./planted-bug.ts";

const bugs: readonly Omit<PlantedBug, "world">[] = [
  {
    name: "quarantine-not-awaited",
    mistake: "The commit does not wait until the rows that it refers to are stored.",
    file: "src/ingest/quarantine/store-quarantine.ts",
    find: "for (const note of notes) await ledger.addNotes(scope, [note]);",
    replace: "for (const note of notes) ledger.addNotes(scope, [note]).catch(() => undefined);",
    checker: "quarantine-kept",
  },
  {
    name: "redrive-replaces-the-version",
    mistake: "Redriven rows replace the version that they came from.",
    file: "src/sinks/table/plan.ts",
    find: "if (object.addsTo !== undefined) {",
    replace: "if (object.addsTo !== undefined && !rows.any) {",
    checker: "rows-elected",
  },
  {
    name: "last-chunk-forgotten",
    mistake: "The rows after the last full chunk of a large record are not staged.",
    file: "src/ingest/stages/effect-buffer.ts",
    find: "async finish(): Promise<CollectedEffects> {\n    await this.flush();",
    replace: "async finish(): Promise<CollectedEffects> {\n    await this.#staging;",
    checker: "rows-elected",
  },
  {
    name: "stages-never-swept",
    mistake: "The sweep leaves the stages of dead attempts.",
    file: "src/sinks/table/stage-removal.ts",
    find: "const stages = await store.read(find);",
    replace: "const stages: { id: unknown; tables: unknown }[] = [];\n  await store.read(find);",
    checker: "leftovers-removed",
  },
  {
    name: "lowest-rank-elected",
    mistake: "Of the writers of a key, the one with the lowest rank becomes the owner.",
    file: "src/sinks/table/statements.ts",
    find: 'DESC`).join(", ")}, o._tg_writer DESC) AS _tg_rank',
    replace: 'ASC`).join(", ")}, o._tg_writer DESC) AS _tg_rank',
    checker: "rows-elected",
  },
  {
    name: "same-values-written-again",
    mistake: "A row that does not change is written, and its triggers fire.",
    file: "src/sinks/table/statements.ts",
    find: 'dialect.differs("t", "excluded", valueColumns)',
    replace: '"1 = 1"',
    checker: "trigger-once",
  },
  {
    name: "outage-while-staging-counted",
    mistake: "A ledger that is down while rows are staged counts against the record.",
    file: "src/ingest/pipeline.ts",
    find: 'stage: by === "store" ? "commit" : "handle"',
    replace: 'stage: by === "store" ? "handle" : "handle"',
    checker: "outage-not-counted",
  },
  {
    name: "promotion-ignores-newer-events",
    mistake: "A promotion replaces the rows of an object that has a newer live event.",
    file: "src/sinks/table/shadow-statements.ts",
    find: "THEN w.sequencer < s.sequencer ELSE w.event_time < s.event_time END`;",
    replace: "THEN 1 = 1 ELSE w.event_time < s.event_time END`;",
    checker: "promote-loses-nothing",
  },
  {
    name: "promotion-forgets-added-rows",
    mistake: "A promotion removes rows that a quarantine redrive added since.",
    file: "src/sinks/table/shadow-statements.ts",
    find: "AND _tg_fence > w.fence",
    replace: "AND 1 = 0",
    checker: "promote-loses-nothing",
  },
  {
    name: "promotion-without-an-election",
    mistake: "The visible rows of other objects are not candidates for a key that is opened.",
    file: "src/sinks/table/shadow-statements.ts",
    find: "moveOwnersTemplate(dialect, live, movedOwners(pair, lids)), // W3",
    replace: 'moveOwnersTemplate(dialect, live, "1 = 0"), // W3',
    checker: "promote-loses-nothing",
  },
  {
    name: "promoted-twice",
    mistake: "Of two promotions at the same time, both are carried out.",
    file: "src/sinks/table/shadow-tables.ts",
    find: "AND state = 'ready' RETURNING id",
    replace: "RETURNING id",
    checker: "promote-loses-nothing",
  },
  {
    name: "replay-asks-for-event-times-again",
    mistake: "A replay calls the event time function instead of using recorded event times.",
    file: "src/ingest/stages/event-time.ts",
    find: "if (recorded === null) return times.resolve(record, inFlight);",
    replace: "if (recorded !== undefined) return times.resolve(record, inFlight);",
    checker: "same-time-and-random",
  },
  {
    name: "replay-in-the-live-generation",
    mistake: "A replay runs its records in the generation of the live pipeline.",
    file: "src/replay/run-replay.ts",
    find: "    generation: options.generation,\n    late:",
    replace: "    generation: pipeline.generation,\n    late:",
    checker: "replay-stays-apart",
  },
];

export const TABLE_BUGS: readonly PlantedBug[] = bugs.map((bug) => ({ ...bug, world: "tables" }));
