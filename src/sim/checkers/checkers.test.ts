import { expect, test } from "vitest";
import { hiddenValueOf } from "../hidden-value.ts";
import type { HistoryEvent, WorldFacts } from "../history.ts";
import { CHECKERS } from "./all-checkers.ts";

type NewEvent = HistoryEvent extends infer E
  ? E extends HistoryEvent
    ? Omit<E, "at" | "actor">
    : never
  : never;

const FACTS: WorldFacts = {
  fifo: true,
  halts: false,
  contents: "messages",
  sink: "transactional",
  dedupWindowMs: 300_000,
  visibilityMs: 30_000,
  drops: true, // So that a history may leave out effects.
  outOfOrderMs: 60_000,
  hangMs: 0,
};
const OBJECTS: WorldFacts = { ...FACTS, fifo: false, contents: "objects" };

/** A history of one event a minute, all by one consumer. */
function history(...drafts: NewEvent[]): HistoryEvent[] {
  return drafts.map(
    (event, at) => ({ ...event, at: at * 60_000, actor: "consumer-1" }) as HistoryEvent,
  );
}

function violatedBy(events: HistoryEvent[], facts: WorldFacts = FACTS): string[] {
  return CHECKERS.filter((checker) => checker.check(events, facts).length > 0).map(
    ({ name }) => name,
  );
}

test("input-names-event: a stored input is about its own record", () => {
  const put = (name: string, sequencer: string): NewEvent => ({
    kind: "object",
    name,
    object: "o1",
    sequencer,
    change: "put",
    value: name,
  });
  const claimed = (name: string, input: string | null): NewEvent => ({
    kind: "claimed",
    name,
    fence: 1,
    attempt: 1,
    lane: { lane: "live", watermark: null },
    input,
  });
  const right = history(put("e1", "01"), put("e2", "02"), claimed("e1", "o1 01"));
  const wrong = history(put("e1", "01"), put("e2", "02"), claimed("e1", "o1 02"));
  expect(violatedBy(right, OBJECTS)).not.toContain("input-names-event");
  expect(violatedBy(wrong, OBJECTS)).toContain("input-names-event");
});

test("archived-before-commit: a commit names a message that the archive has", () => {
  const facts = { ...FACTS, archives: true };
  const object = "s3://archive/e1";
  const stored: NewEvent = { kind: "archived", name: "e1", object };
  const commit: NewEvent = {
    kind: "committed",
    name: "e1",
    fence: 1,
    superseded: false,
    direct: true,
    archived: object,
  };
  const reported = (...drafts: NewEvent[]) => violatedBy(history(...drafts), facts);
  expect(reported(stored, commit)).not.toContain("archived-before-commit");
  expect(reported(commit, stored)).toContain("archived-before-commit");
  expect(reported({ ...stored, name: "e2" }, commit)).toContain("archived-before-commit");
  expect(reported(stored, { ...commit, archived: null })).toContain("archived-before-commit");
});

test("replay-same-messages: a replayed handler gets what a live one got", () => {
  const read = (replayed: boolean, content: string): NewEvent => {
    return { kind: "read", name: "e1", replayed, content };
  };
  const gone: NewEvent = {
    kind: "not-replayable",
    object: "s3://archive/e1",
    cause: "gone",
    reason: "is gone",
  };
  const [live, same, other] = [read(false, "a"), read(true, "a"), read(true, "b")];
  expect(violatedBy(history(live, same))).not.toContain("replay-same-messages");
  expect(violatedBy(history(live, other))).toContain("replay-same-messages");
  expect(violatedBy(history(live, gone))).toContain("replay-same-messages");
  const ended: NewEvent = { kind: "messages-replayed", inputs: 1, committed: 0, failed: 1 };
  expect(violatedBy(history(live, ended))).toContain("replay-same-messages");
});

test("refused-stays-out: a refused value in a text, an effect or another queue is noticed", () => {
  const parked = (why: string): NewEvent => ({
    kind: "parked",
    name: "e1",
    attempts: 1,
    why,
    dossier: true,
  });
  const exposed: NewEvent = { kind: "exposed", name: "e1", by: "refused", where: "a dead letter" };
  const quoted = history(parked(`refused for ${hiddenValueOf("e1", "refused")}`));
  expect(violatedBy(history(parked("refused for ***")))).not.toContain("refused-stays-out");
  expect(violatedBy(quoted)).toContain("refused-stays-out");
  expect(violatedBy(history(exposed))).toContain("refused-stays-out");
});

test("masked-stays-hidden: a masked value is in no text, store or replay", () => {
  const secret = hiddenValueOf("e1", "masked");
  const read = (content: string): NewEvent => {
    return { kind: "read", name: "e1", replayed: true, content };
  };
  const object = "s3://archive/e1";
  const stored: NewEvent = { kind: "archived", name: "e1", object, masked: true };
  const absent = (cause: "masked" | "gone"): NewEvent => {
    return { kind: "not-replayable", object, cause, reason: "cannot be read" };
  };
  const exposed: NewEvent = { kind: "exposed", name: "e1", by: "masked", where: "the archive" };
  const hidden = history(read("***"), stored, absent("masked"));
  expect(violatedBy(hidden)).not.toContain("masked-stays-hidden");
  for (const drafts of [[read(secret)], [exposed], [stored, absent("gone")], [absent("masked")]]) {
    expect(violatedBy(history(...drafts))).toContain("masked-stays-hidden");
  }
  expect(violatedBy(history(exposed))).not.toContain("refused-stays-out");
});

test("locks-stay-local: a consumer pauses only if something failed that it depends on", () => {
  const opens: NewEvent = { kind: "breaker", open: true };
  const fault = (id: string, what = ""): NewEvent => ({ kind: "fault", id, what });
  expect(violatedBy(history(...Array<NewEvent>(11).fill(opens)))).toEqual(["locks-stay-local"]);
  const frozen = fault("frozen/consumer-2/commit#1");
  const quiet = Array<NewEvent>(11).fill({ kind: "breaker", open: false });
  expect(violatedBy(history(...quiet, frozen, opens))).toEqual(["locks-stay-local"]);
  for (const excuse of [
    fault("ledger-down#1"),
    fault("consumer-1/ledger.commit#3"),
    fault("frozen/consumer-1/commit#1"),
    fault("freeze#1", "consumer-1 is frozen for 5 ms"),
  ]) {
    expect(violatedBy(history(...quiet, excuse, opens))).toEqual([]);
  }
});

const registered = (name: string, group = "g"): NewEvent => ({ kind: "registered", name, group });
const sent = (name: string, messageId = `m-${name}`): NewEvent => {
  return { kind: "sent", name, messageId, dedupId: `d-${name}`, group: "g" };
};
const delivered = (
  name: string,
  messageId = `m-${name}`,
  fence: number | null = null,
): NewEvent => {
  const deadLetter = fence === null ? null : { name, fence };
  return { kind: "delivered", names: [name], messageId, receipt: "r", receiveCount: 1, deadLetter };
};
const LIVE = { lane: "live", watermark: null };
const claimed = (name: string, fence: number, attempt = 1): NewEvent => ({
  kind: "claimed",
  name,
  fence,
  attempt,
  lane: LIVE,
});
const handling = (name: string, fence: number | null = null): NewEvent => {
  return { kind: "handling", name, attempt: 1, fence, lane: LIVE };
};
const effect = (name: string, fence: number, more: Partial<NewEvent> = {}): NewEvent =>
  ({
    kind: "effect",
    name,
    fence,
    sink: "transactional",
    accepted: true,
    value: name,
    object: null,
    sequencer: null,
    ...more,
  }) as NewEvent;
const committed = (name: string, fence: number, direct = false): NewEvent => {
  return { kind: "committed", name, fence, superseded: false, direct };
};
const parked = (name: string, dossier = true, why = "poison"): NewEvent => {
  return { kind: "parked", name, attempts: 1, why, dossier };
};
const deadLettered = (name: string, fence = 1): NewEvent => {
  return { kind: "dead-letter", name, messageId: `l-${name}`, fence };
};
const acked = (name: string, messageId = `m-${name}`): NewEvent => ({
  kind: "acked",
  names: [name],
  messageId,
});
const movedBack = (name: string): NewEvent => ({ kind: "moved-back", names: [name] });
const end = (waiting: string[] = [], drained = true): NewEvent => {
  return {
    kind: "end",
    drained,
    rows: [],
    unfinished: [],
    waiting: waiting.map((name) => ({ name, where: "queue" })),
  };
};

const done = (name: string, fence: number): NewEvent[] => [
  ...[delivered(name), claimed(name, fence), handling(name)],
  ...[effect(name, fence), committed(name, fence), acked(name)],
];

test("a history without faults violates no checker", () => {
  const calm = history(
    ...[registered("a"), registered("b"), sent("a"), sent("b")],
    ...[...done("a", 1), ...done("b", 2), { kind: "quiet", probes: [] } as NewEvent, end()],
  );
  expect(violatedBy(calm)).toEqual([]);
});

test("every checker has a unique name and states its guarantee as a sentence", () => {
  expect(new Set(CHECKERS.map(({ name }) => name)).size).toBe(CHECKERS.length);
  for (const { promise } of CHECKERS) expect(promise).toMatch(/^[A-Z].*\.$/);
});

test("a record that is not committed, dead-lettered or in a queue is reported as lost", () => {
  expect(violatedBy(history(registered("a"), sent("a"), end()))).toEqual(["no-loss"]);
  expect(violatedBy(history(registered("a"), sent("a"), end(["a"])))).toEqual([]);
  const purged: NewEvent = { kind: "purged", names: ["a"] };
  expect(violatedBy(history(registered("a"), sent("a"), purged, end()))).toEqual([]);
});

test("effects that are written twice are reported", () => {
  const twice = history(
    ...[registered("a"), sent("a"), claimed("a", 1)],
    effect("a", 1),
    effect("a", 1),
  );
  expect(violatedBy(twice)).toEqual(["effects-once"]);
});

test("a handler that starts after its record's commit is reported", () => {
  const checked = (exists: boolean): NewEvent => ({ kind: "checked", name: "a", exists });
  const before = [registered("a"), sent("a"), delivered("a")];
  const after = [committed("a", 1, true), delivered("a", "again")];
  const ran = [checked(false), handling("a"), effect("a", 1)];
  const unasked = history(...before, ...ran, ...after, handling("a"));
  expect(violatedBy(unasked)).toEqual(["no-run-after-commit"]);
  const wrong = history(...before, ...ran, ...after, checked(false), handling("a"));
  expect(violatedBy(wrong)).toEqual(["no-run-after-commit"]);
  // An answer is good for one start: the second delivery of the first process needs its own.
  const overlap = history(...before, checked(false), ...ran, ...after, handling("a"));
  expect(violatedBy(overlap)).toEqual([]);
});

test("a record that is committed under two fences is reported", () => {
  const twice = history(registered("a"), sent("a"), committed("a", 1), committed("a", 2));
  expect(violatedBy(twice)).toEqual(["effects-once"]);
  const repeated = history(registered("a"), sent("a"), committed("a", 1), committed("a", 1));
  expect(violatedBy(repeated)).toEqual([]);
});

test("a commit without effects is reported, unless it is superseded or drops a missing object", () => {
  const keeps = { ...FACTS, drops: false };
  const bare = [registered("a"), sent("a"), claimed("a", 1)];
  expect(violatedBy(history(...bare, committed("a", 1)), keeps)).toEqual(["effects-once"]);
  expect(violatedBy(history(...bare, effect("a", 1), committed("a", 1)), keeps)).toEqual([]);
  const overtaken = { ...committed("a", 1), superseded: true } as NewEvent;
  expect(violatedBy(history(...bare, overtaken), keeps)).toEqual([]);
  expect(violatedBy(history(...bare, committed("a", 1)), { ...FACTS, drops: true })).toEqual([]);
});

test("an effect of another record is reported", () => {
  const put = { kind: "object", name: "a", object: "o", sequencer: "1", change: "put", value: "A" };
  const wrong = history(
    put as NewEvent,
    claimed("a", 1),
    effect("a", 1, { value: "B" } as Partial<NewEvent>),
  );
  expect(violatedBy(wrong, OBJECTS)).toEqual(["effects-once"]);
});

test("a commit or an effect under an older fence is reported", () => {
  const late = history(claimed("a", 1), claimed("a", 2, 2), committed("a", 1));
  expect(violatedBy(late)).toEqual(["no-effect-under-older-fence"]);
  const lateEffect = history(
    claimed("a", 1),
    claimed("a", 2, 2),
    committed("a", 2),
    effect("a", 1),
  );
  expect(violatedBy(lateEffect)).toEqual(["no-effect-under-older-fence"]);
});

test("a fence that does not grow is reported", () => {
  expect(violatedBy(history(claimed("a", 2), claimed("a", 2, 2)))).toEqual([
    "no-effect-under-older-fence",
  ]);
});

test("an acknowledgement before the commit is reported", () => {
  const early = history(registered("a"), sent("a"), delivered("a"), acked("a"), committed("a", 1));
  expect(violatedBy(early)).toEqual(["ack-after-commit"]);
});

test("a redriven dead letter that is acknowledged without an outcome is reported", () => {
  const before = [
    registered("a"),
    sent("a"),
    delivered("a"),
    parked("a"),
    deadLettered("a", 1),
    acked("a"),
  ];
  const back = [movedBack("a"), delivered("a", "m2", 1), acked("a", "m2")];
  expect(violatedBy(history(...before, ...back))).toEqual(["ack-after-commit"]);
  const copy = [movedBack("a"), delivered("a", "m3"), acked("a", "m3")];
  expect(violatedBy(history(...before, ...copy))).toEqual([]);
  const older = [deadLettered("a", 2), movedBack("a"), delivered("a", "m2", 1), acked("a", "m2")];
  expect(violatedBy(history(...before, ...older))).toEqual([]);
});

test("a message that is not in the outbox, and an effect without a claim, are reported", () => {
  expect(violatedBy(history(sent("a")))).toEqual(["write-ahead"]);
  const unclaimed = effect("a", 1, { sink: "idempotent" } as Partial<NewEvent>);
  expect(violatedBy(history(unclaimed))).toEqual(["write-ahead"]);
  expect(violatedBy(history(claimed("a", 1), unclaimed))).toEqual([]);
});

test("an effect in a commit needs a claim before it, unless the commit is the claim", () => {
  expect(violatedBy(history(effect("a", 1), committed("a", 1)))).toEqual(["write-ahead"]);
  expect(violatedBy(history(effect("a", 1), committed("a", 1, true)))).toEqual([]);
  expect(violatedBy(history(claimed("a", 1), effect("a", 1), committed("a", 1)))).toEqual([]);
});

test("a handler that runs under a fence without a stored claim is reported", () => {
  expect(violatedBy(history(claimed("a", 1), handling("a", 2)))).toEqual(["write-ahead"]);
  expect(violatedBy(history(claimed("a", 2), handling("a", 2)))).toEqual([]);
});

test("a record that overtakes an earlier one of its group is reported", () => {
  const both = [registered("a"), registered("b"), sent("a"), sent("b")];
  expect(violatedBy(history(...both, committed("b", 1)))).toEqual(["fifo-order"]);
  expect(violatedBy(history(...both, parked("a"), committed("b", 1)))).toEqual([]);
  const halting = { ...FACTS, halts: true };
  expect(violatedBy(history(...both, parked("a"), committed("b", 1)), halting)).toEqual([
    "fifo-order",
  ]);
});

test("a record that is sent before one that was registered earlier is reported", () => {
  expect(violatedBy(history(registered("a"), registered("b"), sent("b")))).toEqual(["fifo-order"]);
});

test("a deduplication id that is forgotten early, or remembered too long, is reported", () => {
  const first = [registered("a"), sent("a", "m1")];
  expect(violatedBy(history(...first, sent("a", "m2")))).toEqual(["dedup-window"]);
  const purged: NewEvent = { kind: "purged", names: ["a"] };
  expect(violatedBy(history(...first, purged, sent("a", "m2")))).toEqual([]);
  const other: NewEvent = { ...sent("a", "m2"), dedupId: "another" } as NewEvent;
  expect(violatedBy(history(...first, other))).toEqual(["dedup-window"]);
  const republished: NewEvent = { kind: "republished", name: "a", epoch: 1 };
  expect(violatedBy(history(...first, republished, other))).toEqual([]);
  const third: NewEvent = { ...sent("a", "m3"), dedupId: "a third" } as NewEvent;
  expect(violatedBy(history(...first, republished, other, third))).toEqual(["dedup-window"]);
  const wait: NewEvent = { kind: "process", what: "waits" };
  const later = [wait, wait, wait, wait];
  expect(violatedBy(history(...first, ...later, sent("a", "m2")))).toEqual([]);
  expect(violatedBy(history(...first, ...later, sent("a", "m1")))).toEqual(["dedup-window"]);
});

test("an older change that overwrites a newer one is reported", () => {
  const change = (name: string, sequencer: string) =>
    effect(name, 1, { object: "o", sequencer } as Partial<NewEvent>);
  const both = [claimed("a", 1), claimed("b", 1)];
  expect(violatedBy(history(...both, change("a", "2"), change("b", "1")), OBJECTS)).toEqual([
    "last-writer-wins",
  ]);
  expect(violatedBy(history(...both, change("a", "1"), change("b", "2")), OBJECTS)).toEqual([]);
  const row: NewEvent = {
    kind: "end",
    drained: true,
    waiting: [],
    unfinished: [],
    rows: [{ object: "o", sequencer: "1" }],
  };
  expect(violatedBy(history(...both, change("a", "2"), row), OBJECTS)).toEqual([
    "last-writer-wins",
  ]);
});

test("a dead letter or a parked record without a dossier is reported", () => {
  expect(violatedBy(history(deadLettered("a")))).toEqual(["dossier-for-every-dead-letter"]);
  expect(violatedBy(history(parked("a", false)))).toEqual(["dossier-for-every-dead-letter"]);
});

test("a watermark that decreases is reported", () => {
  const watermark = (stored: number): NewEvent => ({ kind: "watermark", value: stored, stored });
  const begun = [registered("a"), sent("a"), delivered("a")];
  const back = history(...begun, watermark(-60_001), watermark(-60_002));
  expect(violatedBy(back)).toEqual(["watermark-monotone"]);
  expect(
    violatedBy(history(...begun, watermark(-60_002), watermark(-60_002), watermark(-60_001))),
  ).toEqual([]);
});

test("a watermark above the newest event minus the allowed lateness is reported", () => {
  const watermark = (stored: number): NewEvent => ({ kind: "watermark", value: stored, stored });
  const begun = [registered("a"), registered("b")];
  expect(violatedBy(history(...begun, watermark(0)))).toEqual([]);
  expect(violatedBy(history(...begun, watermark(1)))).toEqual(["watermark-monotone"]);
});

test("an attempt that is not counted, or counts although it was released, is reported", () => {
  const attempt = (number: number, fence: number) => claimed("a", fence, number);
  const failed: NewEvent = { kind: "failed", name: "a", attempts: 1, why: "no" };
  const released: NewEvent = { kind: "released", name: "a" };
  const reopened: NewEvent = { kind: "reopened", name: "a" };
  expect(violatedBy(history(attempt(1, 1), attempt(1, 2)))).toEqual(["attempts-counted"]);
  expect(violatedBy(history(attempt(1, 1), attempt(2, 2)))).toEqual([]);
  expect(violatedBy(history(attempt(1, 1), failed, attempt(1, 2)))).toEqual(["attempts-counted"]);
  expect(violatedBy(history(failed, attempt(2, 2)))).toEqual([]);
  expect(violatedBy(history(attempt(1, 1), released, attempt(2, 2)))).toEqual(["attempts-counted"]);
  expect(violatedBy(history(attempt(1, 1), released, released, attempt(1, 2)))).toEqual([]);
  expect(violatedBy(history(parked("a"), reopened, attempt(1, 2)))).toEqual([]);
  expect(violatedBy(history(parked("a"), reopened, attempt(2, 2)))).toEqual(["attempts-counted"]);
});

test("an outage that counts as an attempt of a record is reported", () => {
  const failed = (why: string): NewEvent => ({ kind: "failed", name: "a", attempts: 1, why });
  expect(violatedBy(history(failed("attempt 1 fails")))).toEqual([]);
  expect(violatedBy(history(failed("TG_OBJECTS_UNAVAILABLE: no answer")))).toEqual([]);
  for (const what of ["SINK", "LEDGER", "QUEUE"]) {
    const why = `TG_${what}_UNAVAILABLE: no answer`;
    expect(violatedBy(history(failed(why)))).toEqual(["outage-not-counted"]);
    expect(violatedBy(history(parked("a", true, why)))).toEqual(["outage-not-counted"]);
  }
});

test("a queue that does not drain, and a probe that needs two attempts, are reported", () => {
  const quiet: NewEvent = { kind: "quiet", probes: ["p"] };
  expect(violatedBy(history(end(["a"], false)))).toEqual(["liveness"]);
  expect(violatedBy(history(quiet, end()))).toEqual(["liveness"]);
  expect(
    violatedBy(history(quiet, handling("p"), handling("p"), committed("p", 1), end())),
  ).toEqual(["liveness"]);
  expect(violatedBy(history(quiet, handling("p"), committed("p", 1), end()))).toEqual([]);
});

test("a record that is tried again and again after the faults stop is reported", () => {
  const quiet: NewEvent = { kind: "quiet", probes: [] };
  const again = (event: NewEvent, times: number) => Array.from({ length: times }, () => event);
  const trials: NewEvent[] = [claimed("a", 1), { kind: "refused", name: "a", why: "busy" }];
  for (const trial of [...trials, handling("a")]) {
    const before = [registered("a"), ...again(trial, 40), quiet];
    const violatedAfter = (times: number) => violatedBy(history(...before, ...again(trial, times)));
    expect(violatedAfter(25)).not.toContain("liveness");
    expect(violatedAfter(26)).toContain("liveness");
    const hanging = { ...FACTS, hangMs: 300_000 };
    expect(violatedBy(history(...before, ...again(trial, 55)), hanging)).not.toContain("liveness");
    expect(violatedBy(history(...before, ...again(trial, 56)), hanging)).toContain("liveness");
  }
  const behindAnother = again(delivered("a"), 40);
  expect(violatedBy(history(registered("a"), quiet, ...behindAnother))).toEqual([]);
});

/** Record b is committed at PASSED_AT, before record a, which expires. */
const [BEFORE, PASSING] = [
  [registered("a"), registered("b"), sent("a"), sent("b")],
  [claimed("b", 1), committed("b", 1)],
];
const PASSED_AT = 5 * 60_000;
const expired = (endedAt: number): NewEvent => ({ kind: "expired", names: ["a"], endedAt });

test("a record that expired in its queue is neither lost nor overtaken", () => {
  expect(violatedBy(history(...BEFORE, ...PASSING, end()))).toEqual(["no-loss", "fifo-order"]);
  expect(violatedBy(history(...BEFORE, ...PASSING, expired(PASSED_AT), end()))).toEqual([]);
});

test("a record that expires later is overtaken", () => {
  const events = history(...BEFORE, ...PASSING, expired(PASSED_AT + 1), end());
  expect(violatedBy(events)).toEqual(["fifo-order"]);
});

test("a batch that is complete before its jobs are committed, or registered, is reported", () => {
  const complete = (whole: boolean): NewEvent => {
    return { kind: "batch-complete", batch: "b1", whole, names: ["a", "b"] };
  };
  const done = [registered("a"), registered("b"), committed("a", 1), committed("b", 1)];
  expect(violatedBy(history(...done, complete(true)))).not.toContain("batch-complete");
  expect(violatedBy(history(...done, complete(false)))).toContain("batch-complete");
  expect(violatedBy(history(...done.slice(0, 3), complete(true)))).toContain("batch-complete");
});

const timed = (name: string, eventTime: number): NewEvent => ({ kind: "timed", name, eventTime });
const complete = (value: number, { startedAt = 90_000, counted = false } = {}): NewEvent => ({
  kind: "complete",
  value,
  startedAt,
  counted,
});
const inLane = (kind: "claimed" | "handling", lane: string, watermark: number | null): NewEvent =>
  ({ kind, name: "e1", attempt: 1, fence: 5, lane: { lane, watermark } }) as NewEvent;
const stored = (value: number): NewEvent => ({ kind: "watermark", value, stored: value });

test("a completeUpTo that passes an unsettled record is reported", () => {
  const events = [timed("e1", 500), sent("e1"), complete(501)];
  expect(violatedBy(history(...events))).toContain("complete-up-to");
  expect(violatedBy(history(...[timed("e1", 500), sent("e1"), complete(500)]))).not.toContain(
    "complete-up-to",
  );
  const begun = (startedAt: number) => [
    timed("e1", 500),
    sent("e1"),
    claimed("e1", 1),
    complete(501, { startedAt, counted: true }),
  ];
  expect(violatedBy(history(...begun(180_000)))).not.toContain("complete-up-to");
  expect(violatedBy(history(...begun(300_000)))).toContain("complete-up-to");
  const settled = [timed("e1", 500), sent("e1"), committed("e1", 1), complete(501)];
  expect(violatedBy(history(...settled))).not.toContain("complete-up-to");
});

test("a lane that changes, or that a watermark decides before it is stored, is reported", () => {
  const changed = [stored(7), inLane("claimed", "live", 5), inLane("claimed", "late", 7)];
  expect(violatedBy(history(...changed))).toContain("lane-decided-once");
  const ahead = [stored(7), inLane("claimed", "late", 8)];
  expect(violatedBy(history(...ahead))).toContain("lane-decided-once");
  const other = [stored(7), inLane("claimed", "live", 5), inLane("handling", "late", 5)];
  expect(violatedBy(history(...other))).toContain("lane-decided-once");
  const same = [stored(7), inLane("claimed", "live", 5), inLane("handling", "live", 5)];
  expect(violatedBy(history(...same))).not.toContain("lane-decided-once");
});

test("same-time-and-random: another time or random value of a record is reported", () => {
  const tail = "8123-8123-0123456789ab";
  const drew = (now: number, fence: number | null, more: object = {}): NewEvent => {
    const values = { now, random: 0.5, uuid: `00000000-000${now}-${tail}`, ...more };
    return { kind: "drew", name: "e1", fence, replayed: false, values };
  };
  const claimedAt = (eventTime: number): NewEvent =>
    ({ ...claimed("e1", 1), eventTime }) as NewEvent;
  const directAt = (eventTime: number): NewEvent =>
    ({ ...committed("e1", 1, true), eventTime }) as NewEvent;
  const replayedAt = (now: number): NewEvent =>
    ({ ...drew(now, null), replayed: true }) as NewEvent;
  const NAME = "same-time-and-random";
  for (const wrong of [
    [claimedAt(5), claimedAt(6)],
    [claimedAt(5), drew(6, 1)],
    [claimedAt(5), directAt(6)],
    [directAt(5), replayedAt(6)],
    [drew(5, null), drew(5, null, { random: 0.6 })],
    [drew(5, null), drew(5, null, { uuid: `00000000-0005-${tail.replace("ab", "ac")}` })],
    [drew(5, null), drew(5, null, { uuid: `00000000-0006-${tail}` })],
  ]) {
    expect(violatedBy(history(...wrong))).toContain(NAME);
  }
  const right = [
    drew(4, null),
    claimedAt(5),
    drew(5, 1),
    drew(6, null),
    directAt(5),
    replayedAt(5),
  ];
  expect(violatedBy(history(...right))).not.toContain(NAME);
});

const held = (to: "ledger" | "queue"): NewEvent => ({ kind: "held", name: "e1", attempts: 1, to });

test("a held record that is lost, or acknowledged before it is durable, is reported", () => {
  const ack: NewEvent = { kind: "acked", names: ["e1"], messageId: "m" };
  expect(violatedBy(history(...[held("queue"), ack]))).toContain("held-not-lost");
  expect(violatedBy(history(...[held("ledger"), ack, end()]))).toContain("held-not-lost");
  const still = { ...end(), waiting: [{ name: "e1", where: "held" }] } as NewEvent;
  expect(violatedBy(history(held("ledger"), ack, still))).not.toContain("held-not-lost");
});

test("pause-honoured: a handler that starts in a pause is reported, unless a fault delayed it", () => {
  const [paused, resumed] = [{ kind: "paused" }, { kind: "resumed" }] as const;
  const slow: NewEvent = { kind: "fault", id: "consumer-1/ledger.claim#1", what: "it is delayed" };
  const reported = (...events: NewEvent[]) =>
    violatedBy(history(...events)).includes("pause-honoured");
  expect(reported(paused, handling("a"))).toBe(true);
  expect(reported(paused, resumed, handling("a"))).toBe(false);
  expect(reported(slow, paused, handling("a"))).toBe(false);
  const busy = Array<NewEvent>(11).fill({ kind: "process", what: "" });
  expect(reported(paused, ...busy, handling("a"))).toBe(true);
});
