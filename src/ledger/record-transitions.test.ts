import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyInput } from "../../test/support/stores/any-input.ts";
import { compareSequencers } from "../core/events/sequencer.ts";
import type { EpochMs } from "../core/units.ts";
import { addMs, days, durationMs, epochMs, seconds } from "../core/units.ts";
import type { Fence, LogEntry, ObjectState, RecordInput, RecordState } from "../ports/record.ts";
import type { RecordCall, RecordResult } from "./record-call.ts";
import { stepCall } from "./record-call.ts";
import { decodeEntries, encodeEntries } from "./record-log.ts";
import {
  ABSENT,
  asRecordKey,
  fenceOf,
  isLeaseLive,
  liveRecord,
  RETENTION_MS_MIN,
} from "./record-state.ts";

const T0 = epochMs(1_700_000_000_000);
const FAILURE = { errorClass: "c", fingerprint: "f", message: "m" };

/** One move: time passes, then a worker calls, perhaps with an old fence. */
interface Move {
  readonly waitMs: number;
  readonly call: RecordCall["call"];
  readonly leaseMs: number;
  readonly fencesBack: number;
  readonly permanent: boolean;
  readonly direct: boolean;
  readonly sequencer: string | null;
  readonly lane: "live" | "late";
}

const anyMove = (): fc.Arbitrary<Move> =>
  fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.nat(3_000), fc.constant(RETENTION_MS_MIN)),
    call: fc.constantFrom<RecordCall["call"][]>(
      ...([
        "claim",
        "claim",
        "renew",
        "commit",
        "commit-direct",
        "fail",
        "release",
        "reopen",
      ] as const),
    ),
    leaseMs: fc.integer({ min: 1, max: 2_000 }),
    fencesBack: fc.nat(2),
    permanent: fc.boolean(),
    direct: fc.boolean(),
    sequencer: fc.option(fc.constantFrom("01", "02", "03"), { nil: null }),
    lane: fc.constantFrom("live", "late"),
  });

function callOf(move: Move, fences: readonly Fence[], now: EpochMs): RecordCall {
  const fence = fences.at(-1 - move.fencesBack) ?? fenceOf(1);
  const leaseMs = durationMs(move.leaseMs);
  const lane = { lane: move.lane, watermark: null };
  const input = anyInput({ lane, eventTime: now, messageId: `message at ${now}` });
  const common = { owner: "w", receivedAt: now, input };
  switch (move.call) {
    case "claim":
      return { call: "claim", ...common, leaseMs };
    case "renew":
      return { call: "renew", fence, leaseMs };
    case "commit":
      return { call: "commit", fence, digest: "d", effects: null };
    case "commit-direct":
      return { call: "commit-direct", ...common, startedAt: now, digest: "d", effects: null };
    case "fail": {
      const { permanent } = move;
      return {
        call: "fail",
        ...common,
        fence: move.direct ? null : fence,
        permanent,
        failure: FAILURE,
      };
    }
    case "release":
      return { call: "release", fence };
    case "reopen":
      return { call: "reopen" };
  }
}

const anyClaim: Move = {
  waitMs: 0,
  call: "claim",
  leaseMs: 1_000,
  fencesBack: 0,
  permanent: false,
  direct: false,
  sequencer: null,
  lane: "live",
};

interface Moment {
  readonly now: EpochMs;
  readonly before: RecordState;
  readonly after: RecordState;
  readonly objectChanged: boolean;
  readonly inputBefore: RecordInput | null;
  readonly inputAfter: RecordInput | null;
  readonly call: RecordCall;
  readonly result: RecordResult;
  readonly entries: readonly LogEntry[];
}

/** Runs the moves on one record of one object. */
function live(moves: readonly Move[]): Moment[] {
  let now = T0;
  let record: RecordState = ABSENT;
  let object: ObjectState | null = null;
  let storedInput: RecordInput | null = null;
  const fences: Fence[] = [];
  return moves.map((move) => {
    now = addMs(now, durationMs(move.waitMs));
    const call = callOf(move, fences, now);
    const before = record;
    const ref = { bucket: "in", key: "o", sequencer: move.sequencer };
    const inputBefore = storedInput;
    const input = { key: asRecordKey("k"), record, storedInput, object, ref };
    const step = stepCall({ ...input, now, expiry: now, retentionMs: RETENTION_MS_MIN }, call);
    const { result, entries } = step;
    record = step.record ?? record;
    storedInput = step.input ?? storedInput;
    object = step.object ?? object;
    if ("fence" in result && result.kind !== "duplicate") fences.push(result.fence);
    const objectChanged = step.object !== null;
    const inputs = { inputBefore, inputAfter: storedInput };
    return { now, before, after: record, objectChanged, ...inputs, call, result, entries };
  });
}

const holds = (check: (moments: readonly Moment[]) => void) =>
  fc.assert(fc.property(fc.array(anyMove(), { maxLength: 60 }), (moves) => check(live(moves))));

describe("record transitions", () => {
  test("fences never go back, and every new holder has a newer one (R2)", () => {
    holds((moments) => {
      let newest = 0;
      for (const { call, result, after } of moments) {
        const begins = call.call === "claim" || call.call === "commit-direct";
        const direct = call.call === "fail" && call.fence === null;
        if (
          (begins && (result.kind === "claimed" || result.kind === "committed")) ||
          (direct && result.kind !== "fenced")
        ) {
          expect((result as { fence: Fence }).fence).toBeGreaterThan(newest);
          newest = (result as { fence: Fence }).fence;
        }
        if (after.kind !== "absent") expect(after.fence).toBeLessThanOrEqual(newest);
      }
    });
  });

  test("two live claims on one key never exist (S2)", () => {
    holds((moments) => {
      let liveUntil = 0;
      for (const { now, call, result } of moments) {
        if (result.kind === "claimed") {
          expect(liveUntil).toBeLessThanOrEqual(now);
          liveUntil = result.leaseUntil;
        } else if (result.kind === "renewed") liveUntil = result.leaseUntil;
        else if (["commit", "fail", "release"].includes(call.call) && result.kind !== "fenced") {
          liveUntil = 0; // Its holder has released it.
        } else if (call.call === "commit-direct" && result.kind === "committed") {
          expect(liveUntil).toBeLessThanOrEqual(now);
        }
      }
    });
  });

  test("a rejected call changes neither record nor object nor log (S1)", () => {
    const refusals = ["fenced", "busy", "stale", "parked", "unchanged"];
    holds((moments) => {
      for (const { call, result, before, after, objectChanged, entries } of moments) {
        if (!refusals.includes(result.kind)) continue;
        if (call.call === "fail" && result.kind === "parked") continue; // That is a success.
        if (result.kind === "stale" && after !== before) continue; // S8
        expect(after).toBe(before);
        expect(objectChanged).toBe(false);
        expect(entries).toEqual([]);
      }
    });
  });

  test("a stale event ends its unfinished record, and no claim of another worker (S8)", () => {
    const unfinished = ["released", "failed", "claimed"];
    holds((moments) => {
      for (const { now, result, before, after } of moments) {
        const from = liveRecord(before, now);
        if (result.kind !== "stale") continue;
        if (!unfinished.includes(from.kind)) expect(after).toBe(before);
        else expect(after).toMatchObject({ kind: "committed", superseded: true });
        if (from.kind === "claimed") expect(isLeaseLive(from.leaseUntil, now)).toBe(false);
      }
    });
    const object = {
      sequencer: "02",
      appliedKey: asRecordKey("newer"),
      expiresAt: addMs(T0, days(9)),
    };
    const at = { now: T0, expiry: T0, retentionMs: RETENTION_MS_MIN, object };
    const ref = { bucket: "in", key: "o", sequencer: "01" };
    const common = {
      fence: fenceOf(7),
      attempts: 2,
      seenAt: T0,
      changedAt: T0,
      expiresAt: addMs(T0, days(9)),
    };
    const stored = { key: asRecordKey("k"), storedInput: anyInput(), ref, ...at };
    const claim = callOf({ ...anyClaim, sequencer: "01" }, [], T0);
    const claimed = {
      kind: "claimed",
      ...common,
      owner: "other",
      leaseUntil: addMs(T0, seconds(5)),
    } as const;
    expect(stepCall({ ...stored, record: claimed }, claim).result.kind).toBe("busy");
    const abandoned = stepCall({ ...stored, record: { ...claimed, leaseUntil: T0 } }, claim);
    expect(abandoned.result.kind).toBe("stale");
    expect(abandoned.record).toMatchObject({ kind: "committed", superseded: true, attempts: 2 });
    expect(abandoned.entries.map(({ status }) => status)).toEqual(["superseded"]);
  });

  test("only the newest fence ever renews, commits, fails or releases (S3)", () => {
    holds((moments) => {
      for (const { now, call, result, before } of moments) {
        if (!("fence" in call) || call.fence === null || result.kind === "fenced") continue;
        const record = liveRecord(before, now);
        expect(record.kind === "absent" ? null : record.fence).toBe(call.fence);
      }
    });
  });

  test("entries are unique by fence and sequence, and survive encoding (L1)", () => {
    holds((moments) => {
      const entries = moments.flatMap((moment) => moment.entries);
      const names = entries.map(({ fence, seq }) => `${fence}/${seq}`);
      expect(new Set(names).size).toBe(names.length);
      expect(decodeEntries(encodeEntries(entries))).toEqual(entries);
    });
  });

  test("an event is recorded once, and its lane is never decided again (S6, I1)", () => {
    holds((moments) => {
      for (const { now, call, result, before, inputBefore, inputAfter } of moments) {
        const from = liveRecord(before, now);
        if (result.kind === "claimed") {
          expect(result.lane).toEqual(inputAfter?.lane);
          expect(result.eventTime).toBe(inputAfter?.eventTime);
        }
        if (from.kind === "absent" || from.kind === "committed" || inputAfter === inputBefore) {
          continue;
        }
        expect(inputAfter?.lane).toEqual(inputBefore?.lane);
        expect(inputAfter?.eventTime).toBe(inputBefore?.eventTime);
        if (call.call === "claim") expect(inputAfter?.messageId).toBe(call.input.messageId); // I2
      }
    });
  });

  test("a direct commit with another lane or event time than recorded is busy (S6)", () => {
    holds((moments) => {
      for (const { now, call, result, before, inputBefore } of moments) {
        if (call.call !== "commit-direct" || result.kind !== "committed") continue;
        const from = liveRecord(before, now);
        if (from.kind === "absent" || from.kind === "committed") continue;
        expect(call.input.lane.lane).toBe(inputBefore?.lane.lane);
        expect(call.input.eventTime).toBe(inputBefore?.eventTime);
      }
    });
  });

  test("a crash counts as an attempt and a release does not (R4)", () => {
    holds((moments) => {
      for (const { now, call, result, before, after } of moments) {
        const from = liveRecord(before, now);
        const had = from.kind === "absent" || from.kind === "committed" ? 0 : from.attempts;
        if (result.kind === "claimed") expect(result.attempt).toBe(had + 1);
        if (call.call === "release" && after !== before && after.kind === "released") {
          expect(after.attempts).toBe(had - 1);
        }
      }
    });
  });
});

describe("sequencers", () => {
  const hex = () => fc.string({ unit: fc.constantFrom(..."0123456789ABCDEF"), minLength: 1 });

  test("are compared as if the shorter were padded with zeros on the right", () => {
    expect(compareSequencers("0055AED6DCD90281E5", "0055AED6DCD90281E500")).toBe(0);
    expect(compareSequencers("0055", "0055AED6")).toBe(-1);
    expect(compareSequencers("01", "0099")).toBe(1);
    expect(compareSequencers("0a", "0A")).toBe(0);
  });

  test("are totally ordered, and by plain text when equally long", () => {
    fc.assert(
      fc.property(hex(), hex(), hex(), (a, b, c) => {
        expect(compareSequencers(a, b)).toBe(0 - compareSequencers(b, a) || 0);
        if (compareSequencers(a, b) <= 0 && compareSequencers(b, c) <= 0) {
          expect(compareSequencers(a, c)).toBeLessThanOrEqual(0);
        }
        if (a.length === b.length) {
          expect(compareSequencers(a, b)).toBe(Number(a > b) - Number(a < b));
        }
      }),
    );
  });
});
