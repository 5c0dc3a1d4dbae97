// Tables bugs: mistakes in staging, quarantine and additions to a version, for the tables world.

import type { PlantedBug } from "./planted-bug.ts";

/** The checker is the first word of a violation of tables-world.ts. */
export const TABLES_BUGS: readonly PlantedBug[] = [
  {
    name: "quarantine-not-awaited",
    mistake: "The commit does not wait until the rows that it refers to are stored.",
    file: "src/ingest/quarantine/store-quarantine.ts",
    find: "for (const note of notes) await ledger.addNotes(scope, [note]);",
    replace: "for (const note of notes) ledger.addNotes(scope, [note]).catch(() => undefined);",
    checker: "quarantine",
  },
  {
    name: "set-without-a-commit",
    mistake: "Rows of an attempt that did not commit are listed as well.",
    file: "src/ingest/quarantine/quarantine-access.ts",
    find: "if (committed?.set !== set) return null;",
    replace: "if (committed === null) return null;",
    checker: "quarantine",
  },
  {
    name: "ended-set-listed",
    mistake: "A set whose redrive is committed is listed if its notes are still there.",
    file: "src/ingest/quarantine/quarantine-access.ts",
    find: 'if (kind === "committed") return null; // A1',
    replace: "",
    checker: "quarantine",
  },
  {
    name: "redrive-replaces-the-version",
    mistake: "Redriven rows replace the version that they came from.",
    file: "src/sinks/table/plan.ts",
    find: "if (object.addsTo !== undefined) {",
    replace: "if (object.addsTo !== undefined && !rows.any) {",
    checker: "rows",
  },
  {
    name: "last-chunk-forgotten",
    mistake: "The rows after the last full chunk of a large record are not staged.",
    file: "src/ingest/stages/effects/effect-buffer.ts",
    find: "async finish(): Promise<CollectedEffects> {\n    await this.flush();",
    replace: "async finish(): Promise<CollectedEffects> {\n    await this.#staging;",
    checker: "rows",
  },
  {
    name: "stages-never-swept",
    mistake: "The sweep leaves the stages of dead attempts.",
    file: "src/sinks/table/stage-removal.ts",
    find: "const stages = await store.read(find);",
    replace: "const stages: { id: unknown; tables: unknown }[] = [];\n  await store.read(find);",
    checker: "leftovers",
  },
];
