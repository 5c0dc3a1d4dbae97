// Proof schedules: which faults are injected into a handler, and at which of its points.
//   S1. A point is where a handler meets the world: its start, each row it reads, each effect, each
//       outside call, its sink, its end, the commit, the acknowledgement. Points are numbered in
//       the order in which a run reaches them, over all attempts.
//   S2. Schedules come in order of length: with one fault, then pairs, then seeded ones.
//   S3. Of many points of a kind only some get faults: the first, the last, and some between.

import type { Random } from "../../ports/random.ts";

export type PointKind = "start" | "row" | "effect" | "call" | "sink" | "end" | "commit" | "ack";

export interface Point {
  readonly number: number;
  readonly kind: PointKind;
  /** As in the story: "reads row 3", "sends POST https://…". */
  readonly what: string;
}

export type InjectionKind =
  /** The process crashes before the operation. */
  | "crash-before"
  /** The process crashes after the operation, before it gets the response. */
  | "crash-after"
  /** The operation fails: the handler gets an error. */
  | "fails"
  /** The operation succeeds, but the handler gets an error. */
  | "answer-lost"
  /** The message is redelivered before the operation. */
  | "duplicate"
  /** The process stalls before the operation, for longer than its lease. */
  | "stall";

export interface Injection {
  readonly point: number;
  readonly how: InjectionKind;
}

export type ProofSchedule = readonly Injection[];

/** The faults that each kind of point can have; a synchronous one can neither stall nor wait. */
const FAULTS_BY_POINT: Readonly<Record<PointKind, readonly InjectionKind[]>> = {
  start: ["crash-before", "duplicate", "stall"],
  row: ["crash-before", "fails", "duplicate", "stall"],
  effect: ["crash-before", "fails"],
  call: ["answer-lost", "crash-after", "crash-before", "fails", "duplicate", "stall"],
  sink: ["crash-after", "crash-before", "fails", "answer-lost", "duplicate", "stall"],
  end: ["crash-before", "fails", "duplicate", "stall"],
  commit: ["crash-after", "crash-before", "stall"],
  ack: ["crash-before", "crash-after"],
};

/** Points of one kind that get faults in one record's schedules (S3). */
const POINTS_PER_KIND_MAX = 8;
const FAULTS_MAX = 4;

/** All schedules with one fault. */
export function singles(points: readonly Point[]): ProofSchedule[] {
  return thinned(points).flatMap(({ number: point, kind }) => {
    return FAULTS_BY_POINT[kind].map((how) => [{ point, how }]);
  });
}

/** Schedules with two faults, the second drawn at a later point; at most `max`. */
export function pairs(points: readonly Point[], max: number, random: Random): ProofSchedule[] {
  const firsts = singles(points);
  return Array.from({ length: Math.min(max, firsts.length * 2) }, (_, at) => {
    const [first] = firsts[at % firsts.length] as [Injection];
    const later = { point: first.point + 1 + random.below(points.length), how: anyOf(random) };
    return [first, later];
  });
}

/** One to four faults at random points. */
export function drawSchedule(points: number, random: Random): ProofSchedule {
  const count = 1 + random.below(FAULTS_MAX);
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
  const selected = [...kinds].flatMap((kind) => {
    const all = points.filter((point) => point.kind === kind);
    if (all.length <= POINTS_PER_KIND_MAX) return all;
    const step = (all.length - 1) / (POINTS_PER_KIND_MAX - 1);
    const indexes = Array.from({ length: POINTS_PER_KIND_MAX }, (_, at) => Math.round(at * step));
    return [...new Set(indexes)].map((index) => all[index] as Point);
  });
  return selected.sort((one, two) => one.number - two.number);
}
