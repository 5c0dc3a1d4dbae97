// Ledger moves: calls on one object and its two events, and start states for them, for tests in
// which two calls overlap. Clocks stand still, so that fences are known beforehand.

import type { DurationMs, EpochMs } from "../../src/core/units.ts";
import { days, hours, msBetween, seconds, subtractMs } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Ledger, NoteInput } from "../../src/ports/ledger.ts";
import type { RecordKey } from "../../src/ports/record.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { anyInput } from "../support/stores/any-input.ts";

export type Scope = Parameters<Ledger["show"]>[0];

/** A ledger that can delete the expired rows of a scope, as time to live does. */
export interface Player extends Ledger {
  forget(scope: Scope): Promise<void>;
}

/** The state of a scope: its two records, the object, the note and the run. */
export const PARTS = ["a", "b", "object", "note", "run"] as const;
export type TouchedPart = (typeof PARTS)[number];

/** One call. */
export interface Move {
  /** The parts that influence it, or that it changes. */
  readonly touches: readonly TouchedPart[];
  /** Makes the call as that owner. */
  make(ledger: Player, scope: Scope, owner: string): Promise<unknown>;
}

/** When the moves are made that start from a state. */
export const NOW: EpochMs = FAR_AHEAD;
/** When a state was reached: long enough ago for a short lease to have expired. */
const BEFORE = subtractMs(NOW, hours(1));
/** Long enough ago for everything to have expired. */
const LONG_BEFORE = subtractMs(NOW, days(50));

export const A = asRecordKey("a");
export const B = asRecordKey("b");
export const FORMER = asRecordKey("former");
export const OBJECT = { bucket: "in", key: "o.csv" } as const;
export const NOTE = { kind: "tried", name: "n" } as const;

const at = (sequencer: string) => ({ object: { ...OBJECT, sequencer } });
const OLDEST = at("00");
const OLDER = at("01");
const EVENT = at("02");
const NEWER = at("03");
const NEWEST = at("04");
/** The state of the event, as a listing found it, and as the event has it. */
const STATE = { object: { ...OBJECT, sequencer: "02", state: "v:2" } };
const LISTED = { object: { ...OBJECT, sequencer: null, state: "v:2", listed: true as const } };
const confirmed = (basis: string) => ({
  object: { ...LISTED.object, confirmed: { basis, isCurrent: true } },
});
const noted = (body: string) => ({ note: { ...NOTE, at: NOW, count: 1, body } });
/** What each side says about the event: only the first one counts, and the latest message. */
const inputOf = (owner: string, key: string) =>
  anyInput({
    object: { ...OBJECT, key: `${key}.csv`, versionId: null, etag: null, size: 1, sequencer: null },
    eventTime: owner === "they" ? BEFORE : NOW,
    messageId: `message of ${owner}`,
    runId: `run of ${owner}`,
    lane: { lane: owner === "they" ? "late" : "live", watermark: null },
  });
export const RUN_ID = "run";
const failure = { errorClass: "schema", fingerprint: "f", message: "m" };
/** The fence of every earlier claim. */
const HELD = fenceOf(BEFORE);
/** The fence of a claim made now. */
const FRESH = fenceOf(NOW);

type Request<M extends "claim" | "commit" | "commitDirect" | "fail"> = Partial<
  Parameters<Ledger[M]>[1][number]
>;

function touched(key: RecordKey, more: { object?: unknown; note?: unknown } = {}): TouchedPart[] {
  const record: TouchedPart[] = key === FORMER ? [] : [key === A ? "a" : "b"];
  if (more.object !== undefined) record.push("object");
  return more.note === undefined ? record : [...record, "note"];
}

const claim = (
  key: RecordKey = A,
  more: Request<"claim"> = {},
  leaseMs: DurationMs = seconds(30),
): Move => ({
  touches: touched(key, more),
  make: (ledger, scope, owner) =>
    ledger.claim(scope, [{ key, input: inputOf(owner, key), receivedAt: NOW, ...more }], {
      owner,
      leaseMs,
    }),
});

const direct = (key: RecordKey = A, more: Request<"commitDirect"> = {}): Move => ({
  touches: touched(key, more),
  make(ledger, scope, owner) {
    const times = { input: inputOf(owner, key), receivedAt: NOW, startedAt: NOW };
    return ledger.commitDirect(scope, [{ key, owner, ...times, digest: owner, ...more }]);
  },
});

const commit = (key: RecordKey = A, more: Request<"commit"> = {}): Move => ({
  touches: touched(key, more),
  make: (ledger, scope) => ledger.commit(scope, [{ key, fence: HELD, digest: "d", ...more }]),
});

const fail = (more: Request<"fail"> = {}): Move => ({
  touches: touched(A, more),
  make(ledger, scope, owner) {
    const attempt = {
      key: A,
      fence: HELD,
      owner,
      input: inputOf(owner, A),
      receivedAt: NOW,
      permanent: false,
      failure,
    };
    return ledger.fail(scope, [{ ...attempt, ...more }]);
  },
});

const held = (make: (ledger: Ledger, scope: Scope) => Promise<unknown>): Move => ({
  touches: ["a"],
  make,
});
const renew = held((ledger, scope) => ledger.renew(scope, [{ key: A, fence: HELD }], seconds(60)));
const release = held((ledger, scope) => ledger.release(scope, [{ key: A, fence: HELD }]));
const reopen = held((ledger, scope) => ledger.reopen(scope, [A]));

/** A heartbeat, or the end of the run. */
const putRun = (seenAt: EpochMs, endedAt: EpochMs | null): Move => ({
  touches: ["run"],
  make(ledger, scope, owner) {
    const digests = { codeDigest: owner, configDigest: owner };
    const texts = { environment: "{}", parameters: "{}", counts: JSON.stringify({ seenAt }) };
    const times = { startedAt: BEFORE, endedAt, seenAt };
    return ledger.putRun(scope, { id: RUN_ID, kind: "live", ...times, ...digests, ...texts });
  },
});

const addNote = (note: NoteInput): Move => ({
  touches: ["note"],
  make: (ledger, scope) => ledger.addNotes(scope, [note]),
});
const removeNote: Move = {
  touches: ["note"],
  make: (ledger, scope) => ledger.removeNotes(scope, NOTE.kind, [NOTE.name]),
};
const forget: Move = { touches: PARTS, make: (ledger, scope) => ledger.forget(scope) };

export const MOVES: Readonly<Record<string, Move>> = {
  claim: claim(),
  "claim with object": claim(A, EVENT),
  "claim with object and note": claim(A, { ...EVENT, ...noted("claimed") }),
  "claim of the same state, put again": claim(A, NEWEST),
  "claim of the newer event": claim(B, NEWER),
  "claim of an older event": claim(B, OLDEST),
  renew,
  commit: commit(),
  "commit with object": commit(A, EVENT),
  "commit of the newer event": commit(B, NEWER),
  "claim of a listed state": claim(B, LISTED),
  "commit of a listed state": commit(B, confirmed("01")),
  "direct commit": direct(),
  "direct commit with the state of a listing": direct(A, STATE),
  "direct commit with object": direct(A, EVENT),
  "direct commit of the same state, put again": direct(A, NEWEST),
  "direct commit of the newer event": direct(B, NEWER),
  "direct commit of an older event": direct(B, OLDEST),
  fail: fail(),
  "fail for good with note": fail({ permanent: true, ...noted("parked") }),
  "fail directly": fail({ fence: null }),
  "fail directly with note": fail({ fence: null, ...noted("failed") }),
  release,
  reopen,
  "add to the note": addNote(noted("added").note),
  "remove the note": removeNote,
  "put the run": putRun(NOW, null),
  "end the run": putRun(NOW, NOW),
};

/** What the other side does while our side waits for a response. */
export const RUNS: Readonly<Record<string, readonly Move[]>> = {
  ...Object.fromEntries(Object.entries(MOVES).map(([name, move]) => [name, [move]])),
  "claim, then commit": [claim(), commit(A, { ...EVENT, fence: FRESH })],
  "release, then claim": [release, claim()],
  "commit with the state of a listing": [commit(A, STATE)],
  "commit, then the newer event": [commit(A, EVENT), direct(B, NEWER)],
  "reopen, then claim": [reopen, claim()],
  "remove the note, then add": [removeNote, addNote(noted("added").note)],
};

/** A state, and how it is reached. */
export interface Start {
  readonly at: EpochMs;
  readonly moves: readonly Move[];
  /** What the other side may also do. */
  readonly runs?: Readonly<Record<string, readonly Move[]>>;
}

const reached = (...moves: readonly Move[]): Start => ({ at: BEFORE, moves });

export const STARTS: Readonly<Record<string, Start>> = {
  nothing: reached(),
  "an older event applied": reached(direct(FORMER, OLDER)),
  "claims of both events": reached(
    direct(FORMER, OLDER),
    claim(A, { ...EVENT, ...noted("first") }, hours(2)),
    claim(B, NEWER, hours(2)),
  ),
  "claims of a listing and of its event": reached(
    direct(FORMER, OLDER),
    claim(A, STATE, hours(2)),
    claim(B, LISTED, hours(2)),
  ),
  "a listed state applied": reached(
    direct(FORMER, OLDER),
    claim(B, LISTED, hours(2)),
    commit(B, confirmed("01")),
  ),
  "a claim that ran out": reached(claim(A, EVENT)),
  "a run": reached(putRun(BEFORE, null)),
  "a run that has ended": reached(putRun(BEFORE, BEFORE)),
  "a failure": reached(claim(A, { ...EVENT, ...noted("first") }), fail()),
  "a parked record": reached(claim(A, EVENT), fail({ permanent: true, ...noted("first") })),
  "a released claim": reached(claim(A, EVENT), release),
  "a commit, and a claim of the newer event": reached(direct(A, EVENT), claim(B, NEWER, hours(2))),
  "a commit without object": reached(claim(), commit()),
  "commits of both events": reached(direct(A, EVENT), direct(B, NEWER)),
  "a superseded commit": reached(claim(A, EVENT), direct(B, NEWER), commit(A, EVENT)),
  "what is forgotten but still there": {
    at: LONG_BEFORE,
    moves: [direct(A, EVENT), addNote({ ...noted("old").note, at: LONG_BEFORE })],
    runs: {
      "time to live, then claim": [forget, claim(A, noted("claimed"))],
      "time to live, then direct commit": [forget, direct(A, EVENT)],
      "time to live, then the newer event": [forget, direct(B, NEWER)],
    },
  },
};

/** The state of a scope, in the order of PARTS. */
export async function look(ledger: Ledger, scope: Scope): Promise<readonly unknown[]> {
  return await Promise.all([
    ledger.show(scope, A),
    ledger.show(scope, B),
    ledger.showObject(scope, OBJECT.bucket, OBJECT.key),
    ledger.findNote(scope, NOTE.kind, NOTE.name),
    ledger.findRun(scope, RUN_ID),
  ]);
}

/** Answers of both sides, and the resulting state. */
export interface Outcome {
  readonly ours: unknown;
  readonly theirs: readonly unknown[];
  readonly left: readonly unknown[];
}

const SCOPE: Scope = { pipeline: "law", generation: 1 };
const FORGET_MAX = 100;

/** The outcome by the transitions, with our move, if any, at that position among theirs. */
export async function inOrder(
  start: Start,
  theirs: readonly Move[],
  ours: { readonly move: Move; readonly position: number } | null,
): Promise<Outcome> {
  const clock = createManualClock(start.at);
  const memory = createMemoryLedger({ clock });
  const ledger: Player = { ...memory, forget: async () => void (await memory.purge(FORGET_MAX)) };
  for (const move of start.moves) await move.make(ledger, SCOPE, "before");
  clock.advance(msBetween(start.at, NOW));
  let answer: unknown;
  const answers: unknown[] = [];
  for (let position = 0; position <= theirs.length; position += 1) {
    if (position === ours?.position) answer = await ours.move.make(ledger, SCOPE, "we");
    const move = theirs[position];
    if (move !== undefined) answers.push(await move.make(ledger, SCOPE, "they"));
  }
  return { ours: answer, theirs: answers, left: await look(ledger, SCOPE) };
}
