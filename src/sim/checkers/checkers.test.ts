import { expect, test } from "vitest";
import type { HistoryEvent, WorldFacts } from "../history.ts";
import { CHECKERS } from "./all-checkers.ts";

type Told = HistoryEvent extends infer E
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
  drops: true, // So that not every history has to tell of effects.
  allowedLatenessMs: 60_000,
  hangMs: 0,
};
const OBJECTS: WorldFacts = { ...FACTS, fifo: false, contents: "objects" };

/** A history of one event a minute, all by one consumer. */
function history(...told: Told[]): HistoryEvent[] {
  return told.map(
    (event, at) => ({ ...event, at: at * 60_000, actor: "consumer-1" }) as HistoryEvent,
  );
}

function seenBy(events: HistoryEvent[], facts: WorldFacts = FACTS): string[] {
  return CHECKERS.filter((checker) => checker.check(events, facts).length > 0).map(
    ({ name }) => name,
  );
}

const registered = (name: string, group = "g"): Told => ({ kind: "registered", name, group });
const sent = (name: string, messageId = `m-${name}`): Told => {
  return { kind: "sent", name, messageId, dedupId: `d-${name}`, group: "g" };
};
const delivered = (name: string, messageId = `m-${name}`, fence: number | null = null): Told => {
  const letter = fence === null ? null : { name, fence };
  return { kind: "delivered", names: [name], messageId, receipt: "r", receiveCount: 1, letter };
};
const claimed = (name: string, fence: number, attempt = 1): Told => ({
  kind: "claimed",
  name,
  fence,
  attempt,
});
const handling = (name: string, fence: number | null = null): Told => {
  return { kind: "handling", name, attempt: 1, fence };
};
const effect = (name: string, fence: number, more: Partial<Told> = {}): Told =>
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
  }) as Told;
const committed = (name: string, fence: number, direct = false): Told => {
  return { kind: "committed", name, fence, superseded: false, direct };
};
const parked = (name: string, dossier = true, why = "poison"): Told => {
  return { kind: "parked", name, attempts: 1, why, dossier };
};
const letter = (name: string, fence = 1): Told => {
  return { kind: "dead-letter", name, messageId: `l-${name}`, fence };
};
const acked = (name: string, messageId = `m-${name}`): Told => ({
  kind: "acked",
  names: [name],
  messageId,
});
const movedBack = (name: string): Told => ({ kind: "moved-back", names: [name] });
const end = (waiting: string[] = [], drained = true): Told => {
  return {
    kind: "end",
    drained,
    rows: [],
    waiting: waiting.map((name) => ({ name, where: "queue" })),
  };
};

const done = (name: string, fence: number): Told[] => [
  ...[delivered(name), claimed(name, fence), handling(name)],
  ...[effect(name, fence), committed(name, fence), acked(name)],
];

test("a history in which all went well is found to be one", () => {
  const calm = history(
    ...[registered("a"), registered("b"), sent("a"), sent("b")],
    ...[...done("a", 1), ...done("b", 2), { kind: "quiet", probes: [] } as Told, end()],
  );
  expect(seenBy(calm)).toEqual([]);
});

test("every checker has a name of its own and says what it holds", () => {
  expect(new Set(CHECKERS.map(({ name }) => name)).size).toBe(CHECKERS.length);
  for (const { promise } of CHECKERS) expect(promise).toMatch(/^[A-Z].*\.$/);
});

test("a record that is neither committed, nor dead, nor waiting is a loss", () => {
  expect(seenBy(history(registered("a"), sent("a"), end()))).toEqual(["no-loss"]);
  expect(seenBy(history(registered("a"), sent("a"), end(["a"])))).toEqual([]);
  const purged: Told = { kind: "purged", names: ["a"] };
  expect(seenBy(history(registered("a"), sent("a"), purged, end()))).toEqual([]);
});

test("effects that are written twice are seen", () => {
  const twice = history(
    ...[registered("a"), sent("a"), claimed("a", 1)],
    effect("a", 1),
    effect("a", 1),
  );
  expect(seenBy(twice)).toEqual(["effects-once"]);
});

test("a record that is committed under two fences is seen", () => {
  const twice = history(registered("a"), sent("a"), committed("a", 1), committed("a", 2));
  expect(seenBy(twice)).toEqual(["effects-once"]);
  const repeated = history(registered("a"), sent("a"), committed("a", 1), committed("a", 1));
  expect(seenBy(repeated)).toEqual([]);
});

test("a commit without effects is seen, unless it was overtaken or its object is gone", () => {
  const keeps = { ...FACTS, drops: false };
  const bare = [registered("a"), sent("a"), claimed("a", 1)];
  expect(seenBy(history(...bare, committed("a", 1)), keeps)).toEqual(["effects-once"]);
  expect(seenBy(history(...bare, effect("a", 1), committed("a", 1)), keeps)).toEqual([]);
  const overtaken = { ...committed("a", 1), superseded: true } as Told;
  expect(seenBy(history(...bare, overtaken), keeps)).toEqual([]);
  expect(seenBy(history(...bare, committed("a", 1)), { ...FACTS, drops: true })).toEqual([]);
});

test("an effect that is not the record's own is seen", () => {
  const put = { kind: "object", name: "a", object: "o", sequencer: "1", change: "put", value: "A" };
  const wrong = history(
    put as Told,
    claimed("a", 1),
    effect("a", 1, { value: "B" } as Partial<Told>),
  );
  expect(seenBy(wrong, OBJECTS)).toEqual(["effects-once"]);
});

test("a commit, or an effect, under a fence that was outdone is seen", () => {
  const late = history(claimed("a", 1), claimed("a", 2, 2), committed("a", 1));
  expect(seenBy(late)).toEqual(["no-effect-under-older-fence"]);
  const told = history(claimed("a", 1), claimed("a", 2, 2), committed("a", 2), effect("a", 1));
  expect(seenBy(told)).toEqual(["no-effect-under-older-fence"]);
});

test("a fence that does not grow is seen", () => {
  expect(seenBy(history(claimed("a", 2), claimed("a", 2, 2)))).toEqual([
    "no-effect-under-older-fence",
  ]);
});

test("an acknowledgement before the commit is seen", () => {
  const early = history(registered("a"), sent("a"), delivered("a"), acked("a"), committed("a", 1));
  expect(seenBy(early)).toEqual(["ack-after-commit"]);
});

test("a dead letter that came back and is acknowledged undecided is seen", () => {
  const before = [
    registered("a"),
    sent("a"),
    delivered("a"),
    parked("a"),
    letter("a", 1),
    acked("a"),
  ];
  const back = [movedBack("a"), delivered("a", "m2", 1), acked("a", "m2")];
  expect(seenBy(history(...before, ...back))).toEqual(["ack-after-commit"]);
  const copy = [movedBack("a"), delivered("a", "m3"), acked("a", "m3")];
  expect(seenBy(history(...before, ...copy))).toEqual([]);
  const older = [letter("a", 2), movedBack("a"), delivered("a", "m2", 1), acked("a", "m2")];
  expect(seenBy(history(...before, ...older))).toEqual([]);
});

test("a message that no outbox knows, and an effect that no claim stands for, are seen", () => {
  expect(seenBy(history(sent("a")))).toEqual(["write-ahead"]);
  const unclaimed = effect("a", 1, { sink: "idempotent" } as Partial<Told>);
  expect(seenBy(history(unclaimed))).toEqual(["write-ahead"]);
  expect(seenBy(history(claimed("a", 1), unclaimed))).toEqual([]);
});

test("an effect in a commit needs a claim before it, unless the commit is the claim", () => {
  expect(seenBy(history(effect("a", 1), committed("a", 1)))).toEqual(["write-ahead"]);
  expect(seenBy(history(effect("a", 1), committed("a", 1, true)))).toEqual([]);
  expect(seenBy(history(claimed("a", 1), effect("a", 1), committed("a", 1)))).toEqual([]);
});

test("a handler that is given a fence which no claim was written down for is seen", () => {
  expect(seenBy(history(claimed("a", 1), handling("a", 2)))).toEqual(["write-ahead"]);
  expect(seenBy(history(claimed("a", 2), handling("a", 2)))).toEqual([]);
});

test("a record that passes an earlier one of its group is seen", () => {
  const both = [registered("a"), registered("b"), sent("a"), sent("b")];
  expect(seenBy(history(...both, committed("b", 1)))).toEqual(["fifo-order"]);
  expect(seenBy(history(...both, parked("a"), committed("b", 1)))).toEqual([]);
  const halting = { ...FACTS, halts: true };
  expect(seenBy(history(...both, parked("a"), committed("b", 1)), halting)).toEqual(["fifo-order"]);
});

test("a record that leaves before one that was registered earlier is seen", () => {
  expect(seenBy(history(registered("a"), registered("b"), sent("b")))).toEqual(["fifo-order"]);
});

test("a deduplication id that is forgotten early, or known too long, is seen", () => {
  const first = [registered("a"), sent("a", "m1")];
  expect(seenBy(history(...first, sent("a", "m2")))).toEqual(["dedup-window"]);
  const purged: Told = { kind: "purged", names: ["a"] };
  expect(seenBy(history(...first, purged, sent("a", "m2")))).toEqual([]);
  const other: Told = { ...sent("a", "m2"), dedupId: "another" } as Told;
  expect(seenBy(history(...first, other))).toEqual(["dedup-window"]);
  const wait: Told = { kind: "process", what: "waits" };
  const later = [wait, wait, wait, wait];
  expect(seenBy(history(...first, ...later, sent("a", "m2")))).toEqual([]);
  expect(seenBy(history(...first, ...later, sent("a", "m1")))).toEqual(["dedup-window"]);
});

test("an older change that overwrites a newer one is seen", () => {
  const change = (name: string, sequencer: string) =>
    effect(name, 1, { object: "o", sequencer } as Partial<Told>);
  const both = [claimed("a", 1), claimed("b", 1)];
  expect(seenBy(history(...both, change("a", "2"), change("b", "1")), OBJECTS)).toEqual([
    "last-writer-wins",
  ]);
  expect(seenBy(history(...both, change("a", "1"), change("b", "2")), OBJECTS)).toEqual([]);
  const row: Told = {
    kind: "end",
    drained: true,
    waiting: [],
    rows: [{ object: "o", sequencer: "1" }],
  };
  expect(seenBy(history(...both, change("a", "2"), row), OBJECTS)).toEqual(["last-writer-wins"]);
});

test("a dead letter, or a record given up on, without a dossier is seen", () => {
  expect(seenBy(history(letter("a")))).toEqual(["dossier-for-every-dead-letter"]);
  expect(seenBy(history(parked("a", false)))).toEqual(["dossier-for-every-dead-letter"]);
});

test("a watermark that goes back is seen", () => {
  const kept = (stored: number): Told => ({ kind: "watermark", value: stored, stored });
  const begun = [registered("a"), sent("a"), delivered("a")];
  const back = history(...begun, kept(-60_001), kept(-60_002));
  expect(seenBy(back)).toEqual(["watermark-monotone"]);
  expect(seenBy(history(...begun, kept(-60_002), kept(-60_002), kept(-60_001)))).toEqual([]);
});

test("a watermark that runs ahead of the newest event less the lateness is seen", () => {
  const kept = (stored: number): Told => ({ kind: "watermark", value: stored, stored });
  const begun = [registered("a"), registered("b")];
  expect(seenBy(history(...begun, kept(0)))).toEqual([]);
  expect(seenBy(history(...begun, kept(1)))).toEqual(["watermark-monotone"]);
});

test("an attempt that is not counted, or that counts although it was given back, is seen", () => {
  const attempt = (number: number, fence: number) => claimed("a", fence, number);
  const failed: Told = { kind: "failed", name: "a", attempts: 1, why: "no" };
  const released: Told = { kind: "released", name: "a" };
  const reopened: Told = { kind: "reopened", name: "a" };
  expect(seenBy(history(attempt(1, 1), attempt(1, 2)))).toEqual(["attempts-counted"]);
  expect(seenBy(history(attempt(1, 1), attempt(2, 2)))).toEqual([]);
  expect(seenBy(history(attempt(1, 1), failed, attempt(1, 2)))).toEqual(["attempts-counted"]);
  expect(seenBy(history(failed, attempt(2, 2)))).toEqual([]);
  expect(seenBy(history(attempt(1, 1), released, attempt(2, 2)))).toEqual(["attempts-counted"]);
  expect(seenBy(history(attempt(1, 1), released, released, attempt(1, 2)))).toEqual([]);
  expect(seenBy(history(parked("a"), reopened, attempt(1, 2)))).toEqual([]);
  expect(seenBy(history(parked("a"), reopened, attempt(2, 2)))).toEqual(["attempts-counted"]);
});

test("an outage that is counted against a record is seen", () => {
  const failed = (why: string): Told => ({ kind: "failed", name: "a", attempts: 1, why });
  expect(seenBy(history(failed("attempt 1 fails")))).toEqual([]);
  expect(seenBy(history(failed("TG_OBJECTS_UNAVAILABLE: no answer")))).toEqual([]);
  for (const what of ["SINK", "LEDGER", "QUEUE"]) {
    const why = `TG_${what}_UNAVAILABLE: no answer`;
    expect(seenBy(history(failed(why)))).toEqual(["outage-not-counted"]);
    expect(seenBy(history(parked("a", true, why)))).toEqual(["outage-not-counted"]);
  }
});

test("what does not drain, and what is new and not done at once, is seen", () => {
  const quiet: Told = { kind: "quiet", probes: ["p"] };
  expect(seenBy(history(end(["a"], false)))).toEqual(["liveness"]);
  expect(seenBy(history(quiet, end()))).toEqual(["liveness"]);
  expect(seenBy(history(quiet, handling("p"), handling("p"), committed("p", 1), end()))).toEqual([
    "liveness",
  ]);
  expect(seenBy(history(quiet, handling("p"), committed("p", 1), end()))).toEqual([]);
});

test("a record that is tried again and again after the faults is seen", () => {
  const quiet: Told = { kind: "quiet", probes: [] };
  const again = (event: Told, times: number) => Array.from({ length: times }, () => event);
  const trials: Told[] = [claimed("a", 1), { kind: "refused", name: "a", why: "busy" }];
  for (const trial of [...trials, handling("a")]) {
    const before = [registered("a"), ...again(trial, 40), quiet];
    const seen = (times: number) => seenBy(history(...before, ...again(trial, times)));
    expect(seen(25)).not.toContain("liveness");
    expect(seen(26)).toContain("liveness");
    const hanging = { ...FACTS, hangMs: 300_000 };
    expect(seenBy(history(...before, ...again(trial, 55)), hanging)).not.toContain("liveness");
    expect(seenBy(history(...before, ...again(trial, 56)), hanging)).toContain("liveness");
  }
  const behindAnother = again(delivered("a"), 40);
  expect(seenBy(history(registered("a"), quiet, ...behindAnother))).toEqual([]);
});

test("what expired in its queue was told of, and is passed by right", () => {
  const expired: Told = { kind: "expired", names: ["a"] };
  const both = [registered("a"), registered("b"), sent("a"), sent("b")];
  const after = [claimed("b", 1), committed("b", 1), end()];
  expect(seenBy(history(...both, expired, ...after))).toEqual([]);
  expect(seenBy(history(...both, ...after))).toEqual(["no-loss", "fifo-order"]);
});
