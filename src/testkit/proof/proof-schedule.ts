// Proof schedules: what is done to a handler, and at which of its points.
//   S1. A point is a place where a handler meets the world: its start, each row it reads, each
//       effect, each outside call, its sink, its end, the commit, the acknowledgement. Points are
//       numbered in the order in which a run comes to them, over all attempts.
//   S2. Schedules come in order of length: with one disturbance, then pairs, then seeded ones.
//   S3. Of many points of a kind only some are disturbed: the first, the last, and some between.

import type { Random } from "../../ports/random.ts";

export type PointKind = "start" | "row" | "effect" | "call" | "sink" | "end" | "commit" | "ack";

export interface Point {
  readonly number: number;
  readonly kind: PointKind;
  /** In words: "reads row 3", "POST https://…". */
  readonly what: string;
}

export type InjectionKind =
  /** The process dies on its way there. */
  | "crash-before"
  /** The process dies with the thing done and nobody told. */
  | "crash-after"
  /** It fails there: the handler hears an error. */
  | "fails"
  /** It was done, and the handler hears an error all the same. */
  | "answer-lost"
  /** The message is delivered a second time while the handler is there. */
  | "duplicate"
  /** The process stands still there, for longer than its lease. */
  | "stall";

export interface Injection {
  readonly point: number;
  readonly how: InjectionKind;
}

export type ProofSchedule = readonly Injection[];

/** What can be done at a point; what cannot wait can neither be stalled nor overtaken. */
const DISTURBINGS: Readonly<Record<PointKind, readonly InjectionKind[]>> = {
  start: ["crash-before", "duplicate", "stall"],
  row: ["crash-before", "fails", "duplicate", "stall"],
  effect: ["crash-before", "fails"],
  call: ["answer-lost", "crash-after", "crash-before", "fails", "duplicate", "stall"],
  sink: ["crash-after", "crash-before", "fails", "answer-lost", "duplicate", "stall"],
  end: ["crash-before", "fails", "duplicate", "stall"],
  commit: ["crash-after", "crash-before", "stall"],
  ack: ["crash-before", "crash-after"],
};

/** Points of one kind that are disturbed in one record's schedules (S3). */
const POINTS_PER_KIND_MAX = 8;
const DISTURBED_MAX = 4;

/** All schedules with one disturbance. */
export function singles(points: readonly Point[]): ProofSchedule[] {
  return thinned(points).flatMap(({ number: point, kind }) => {
    return DISTURBINGS[kind].map((how) => [{ point, how }]);
  });
}

/** Schedules with two disturbances, the second drawn at a later point; at most `max`. */
export function pairs(points: readonly Point[], max: number, random: Random): ProofSchedule[] {
  const firsts = singles(points);
  return Array.from({ length: Math.min(max, firsts.length * 2) }, (_, at) => {
    const [first] = firsts[at % firsts.length] as [Injection];
    const later = { point: first.point + 1 + random.below(points.length), how: anyOf(random) };
    return [first, later];
  });
}

/** One to four disturbances wherever chance has it. */
export function drawSchedule(points: number, random: Random): ProofSchedule {
  const count = 1 + random.below(DISTURBED_MAX);
  const drawn = Array.from({ length: count }, (): Injection => {
    return { point: 1 + random.below(points * 2), how: anyOf(random) };
  });
  const unique = new Map(drawn.map((each) => [each.point, each]));
  return [...unique.values()].sort((one, two) => one.point - two.point);
}

const ANY: readonly InjectionKind[] = [
  "crash-before",
  "crash-after",
  "fails",
  "answer-lost",
  "duplicate",
  "stall",
];

function anyOf(random: Random): InjectionKind {
  return ANY[random.below(ANY.length)] as InjectionKind;
}

function thinned(points: readonly Point[]): Point[] {
  const kinds = new Set(points.map(({ kind }) => kind));
  const kept = [...kinds].flatMap((kind) => {
    const all = points.filter((point) => point.kind === kind);
    if (all.length <= POINTS_PER_KIND_MAX) return all;
    const step = (all.length - 1) / (POINTS_PER_KIND_MAX - 1);
    const places = Array.from({ length: POINTS_PER_KIND_MAX }, (_, at) => Math.round(at * step));
    return [...new Set(places)].map((place) => all[place] as Point);
  });
  return kept.sort((one, two) => one.number - two.number);
}
