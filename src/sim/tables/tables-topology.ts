// Tables topology: the tables of a simulated world, and the files that fill them.
//   D1. Every file is drawn by the name of its record, as the workload is.

import { createNamedDice, type NamedDice } from "../faults/named-random.ts";
import type { FileRow } from "./table-events.ts";

export interface TablesTopology {
  /** Whether the table exists before, made by the user. */
  readonly existing: boolean;
  readonly onReplaced: "delete" | "keep";
  /** Fraction of the files that are staged in chunks. */
  readonly large: number;
  /** Fraction of the rows that break the schema. */
  readonly bad: number;
  /** Redrives of quarantined rows while faults last. */
  readonly redrives: number;
  /** When the schema is repaired, as a fraction of the faulty time; 1: when the faults stop. */
  readonly repairAt: number;
  readonly replays: number;
}

/** Effects in memory, and per chunk, so that a file of some rows is a large one. */
export const STAGE_LIMITS = { memory: 8, chunk: 5 } as const;
const SMALL_ROWS_MAX = 5;
const LARGE_ROWS_MIN = 12;
const LARGE_ROWS_MAX = 30;
/** Keys that all objects share. */
const SHARED_KEYS = 10;
/** Keys that only one object has. */
const OWN_KEYS = 20;

export function drawTables(dice: NamedDice): TablesTopology {
  return {
    existing: dice.roll("tables existing", 0.5),
    onReplaced: dice.pick("tables replaced", ["delete", "delete", "keep"] as const),
    large: dice.pick("tables large", [0, 0.1, 0.3]),
    bad: dice.pick("tables bad", [0, 0.1, 0.3]),
    redrives: dice.whole("tables redrives", 0, 3),
    repairAt: dice.pick("tables repair", [0.3, 0.6, 1]),
    replays: dice.pick("tables replays", [0, 1, 2, 3]),
  };
}

/** The rows of the file that a record is about (D1). Every value occurs once in a world. */
export function rowsOfFile(
  seed: number,
  { name, object }: { readonly name: string; readonly object: string },
  topology: TablesTopology,
  firstValue: number,
): FileRow[] {
  const dice = createNamedDice(seed, `file ${name}`);
  const isLarge = dice.roll("large", topology.large);
  const count = isLarge
    ? dice.whole("rows", LARGE_ROWS_MIN, LARGE_ROWS_MAX)
    : dice.whole("rows", 1, SMALL_ROWS_MAX);
  return Array.from({ length: count }, (_, at): FileRow => {
    const shared = dice.roll(`shared ${at}`, isLarge ? 0.2 : 0.6);
    const number = dice.whole(`key ${at}`, 1, shared ? SHARED_KEYS : OWN_KEYS);
    const id = shared ? `k${number}` : `${object}-${number}`;
    return { id, n: firstValue + at, bad: dice.roll(`bad ${at}`, topology.bad), line: at + 1 };
  });
}

/** A file as the bucket stores it. */
export function fileText(rows: readonly FileRow[]): string {
  return rows.map(({ id, n, bad }) => `${JSON.stringify({ id, n, bad })}\n`).join("");
}
