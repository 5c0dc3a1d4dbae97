// Table model: what a table must show, in plain words. It is written from the docs, not from
// the statements of the sink.
//   M1. An object shows its newest event, by sequencer. An older one changes nothing.
//   M2. A row that several objects have shows the one with the latest event time, then the highest
//       tie.
//   M3. Redriven rows are added to the version that they came from, unless a newer one replaced it.
//   M4. A promotion replaces the rows of an object whose live event is the replayed one, or older.
//       A newer event stays, and so does a version to which rows were added.

import type { FileRow, TableEvent } from "./table-events.ts";
import { shownRow } from "./table-events.ts";

export type SimFileEvent = Extract<TableEvent, { kind: "file" }>;

interface Cell {
  readonly value: string;
  readonly by: SimFileEvent;
}

interface Shown {
  readonly event: SimFileEvent;
  readonly cells: ReadonlyMap<string, Cell>;
  readonly added: boolean;
}

/** The visible rows of a file; the last row of a key counts. */
export function valuesOf(
  { rows }: SimFileEvent,
  code: number,
  which: (row: FileRow) => boolean,
): ReadonlyMap<string, string> {
  return new Map(rows.filter(which).map(({ id, n }) => [id, shownRow(n, code)]));
}

export class TableModel {
  readonly #onReplaced: "delete" | "keep";
  readonly #shown = new Map<string, Shown>();

  constructor(onReplaced: "delete" | "keep") {
    this.#onReplaced = onReplaced;
  }

  /** M1 */
  apply(event: SimFileEvent, values: ReadonlyMap<string, string>): void {
    const before = this.#shown.get(event.object);
    if (before !== undefined && before.event.sequencer > event.sequencer) return;
    const remaining = event.removed ? [] : this.#remaining(before);
    const cells = new Map([...remaining, ...cellsOf(event, values)]);
    this.#shown.set(event.object, { event, cells, added: false });
  }

  /** M3 */
  add(event: SimFileEvent, values: ReadonlyMap<string, string>): void {
    const before = this.#shown.get(event.object);
    if (before?.event.name !== event.name) return;
    const cells = new Map([...before.cells, ...cellsOf(event, values)]);
    this.#shown.set(event.object, { event, cells, added: true });
  }

  /** M4 */
  promote(shadow: TableModel): void {
    for (const [object, { event, cells }] of shadow.#shown) {
      const live = this.#shown.get(object);
      if (live !== undefined && live.event.sequencer > event.sequencer) continue;
      if (live?.event.sequencer === event.sequencer && live.added) continue;
      const remaining = event.removed ? [] : this.#remaining(live);
      this.#shown.set(object, { event, cells: new Map([...remaining, ...cells]), added: false });
    }
  }

  #remaining(before: Shown | undefined): Iterable<[string, Cell]> {
    return this.#onReplaced === "keep" ? (before?.cells ?? []) : [];
  }

  /** The visible rows (M2). */
  rows(): ReadonlyMap<string, string> {
    const best = new Map<string, Cell>();
    for (const { cells } of this.#shown.values()) {
      for (const [id, cell] of cells) {
        const other = best.get(id);
        if (other === undefined || isLater(cell.by, other.by)) best.set(id, cell);
      }
    }
    return new Map([...best].map(([id, { value }]) => [id, value]));
  }
}

function cellsOf(by: SimFileEvent, values: ReadonlyMap<string, string>): [string, Cell][] {
  return [...values].map(([id, value]) => [id, { value, by }]);
}

function isLater(one: SimFileEvent, two: SimFileEvent): boolean {
  return one.eventTime > two.eventTime || (one.eventTime === two.eventTime && one.tie > two.tie);
}

/** The first few differences of two tables, in words. */
export function differencesOf(
  actual: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): string[] {
  const ids = [...new Set([...actual.keys(), ...wanted.keys()])].sort();
  const wrong = ids.filter((id) => actual.get(id) !== wanted.get(id));
  return wrong.map((id) => {
    return `${id} is ${actual.get(id) ?? "absent"}, not ${wanted.get(id) ?? "absent"}`;
  });
}
