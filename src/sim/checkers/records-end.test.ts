import { expect, test } from "vitest";
import type { HistoryEvent, WorldFacts } from "../history.ts";
import { recordsEnd } from "./records-end.ts";

const BASE = { at: 0, actor: "world" };
const PARKED = { ...BASE, kind: "parked", name: "a", attempts: 1, why: "poison", dossier: true };
const PURGED = { ...BASE, kind: "purged", names: ["a"] };
const REOPENED = { ...BASE, kind: "reopened", name: "a" };
const STALE = { ...BASE, kind: "refused", name: "a", why: "stale" };
const END = { ...BASE, kind: "end", drained: true, rows: [], waiting: [], unfinished: ["a"] };

function violations(...events: readonly object[]): number {
  return recordsEnd.check([...events, END] as HistoryEvent[], {} as WorldFacts).length;
}

test("a record that nothing brings back is unfinished; a purged one is excused", () => {
  expect(violations(PARKED)).toBe(1);
  expect(violations(PARKED, PURGED)).toBe(0);
});

test("reopening a parked record whose event was stale is excused, and nothing else", () => {
  expect(violations(PARKED, REOPENED)).toBe(1);
  expect(violations(PARKED, REOPENED, STALE)).toBe(1);
  expect(violations(STALE, PARKED, REOPENED)).toBe(1);
  expect(violations(PARKED, STALE, REOPENED)).toBe(0);
});
