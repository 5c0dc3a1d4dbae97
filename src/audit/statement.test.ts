import { expect, test } from "vitest";
import { days, epochMs } from "../core/units.ts";
import type { AuditStatus } from "../ports/audit.ts";
import type { AuditLine } from "./audit-line.ts";
import { type Statement, StatementBuilder, statementProblem } from "./statement.ts";

const DAY = days(1);
const FACTS = {
  id: "id",
  startedAt: "2026-01-01T00:00:00.000Z",
  endedAt: "2026-01-01T00:00:01.000Z",
  sink: { checked: false, what: "a function" },
  queue: { read: "exact", messages: 0 },
  rows: null,
  graceMs: 0,
} as const;
const SUBJECT = { pipeline: "p", generation: 0, bucket: "b", prefix: "" };

function line(key: string, at: number, status: AuditStatus = "committed"): AuditLine {
  return {
    key,
    versionId: null,
    etag: key,
    size: 1,
    at: epochMs(at),
    status,
    records: [],
    reason: "",
  };
}

function statement(
  to: number,
  lines: readonly AuditLine[],
  more: { readonly previous?: Statement; readonly forgetsBefore?: number } = {},
): Statement {
  const { previous = null, forgetsBefore = 0 } = more;
  const builder = new StatementBuilder({
    subject: SUBJECT,
    from: null,
    to: epochMs(to),
    forgetsBefore: epochMs(forgetsBefore),
    previous,
  });
  for (const each of lines) builder.add(each);
  return builder.end(FACTS);
}

const LINES = [line("a", 10), line("b", DAY + 5), line("c", 20)];

test("a longer window with the same lines continues the chain of the earlier statement", () => {
  const to = DAY + 1_000;
  const earlier = statement(to, LINES);
  const later = statement(3 * DAY, [...LINES, line("d", DAY + 2_000), line("e", 2 * DAY)], {
    previous: earlier,
  });
  expect(later.previous).toMatchObject({ unchanged: true, chain: earlier.chain, segments: [] });
  expect(later.segments.slice(0, 2)).toEqual(earlier.segments);
  expect(later.segments).toHaveLength(4);
  expect(later.counts.committed).toBe(5);
  const third = statement(4 * DAY, [...LINES, line("d", DAY + 2_000), line("e", 2 * DAY)], {
    previous: later,
  });
  expect(third.previous?.unchanged).toBe(true);
  expect(third.cuts).toHaveLength(2);
});

test("a window is complete only if all of it is applied, and its verdict is part of its digest", () => {
  const of = (...statuses: AuditStatus[]) =>
    statement(
      100,
      statuses.map((status, at) => line(String(at), at, status)),
    ).verdict;
  expect(of("committed", "superseded", "gone", "ignored")).toBe("complete");
  for (const status of ["dead-lettered", "held", "in-flight", "waiting"] as const) {
    expect([status, of("committed", status)]).toEqual([status, "accounted"]);
    expect(of("unknown", status)).toBe("undecided");
    expect(of("missing", status)).toBe("incomplete");
  }
  const window = { subject: SUBJECT, from: null, to: epochMs(100), forgetsBefore: epochMs(0) };
  const builder = new StatementBuilder({ ...window, previous: null });
  builder.addQuarantined(epochMs(5), 3);
  const bad = builder.end(FACTS);
  expect(bad.verdict).toBe("accounted");
  expect(statementProblem({ ...bad, quarantined: { sets: 0, rows: 0, segments: [] } })).toContain(
    "digest",
  );
});

test("quarantined rows of days that the ledger has forgotten are carried over", () => {
  const window = { subject: SUBJECT, from: null, previous: null };
  const first = new StatementBuilder({
    ...window,
    to: epochMs(2 * DAY),
    forgetsBefore: epochMs(0),
  });
  for (const each of LINES) first.add(each);
  first.addQuarantined(epochMs(20), 3);
  first.addQuarantined(epochMs(30), 1);
  first.addQuarantined(epochMs(DAY + 5), 2);
  const previous = first.end(FACTS);
  expect(previous.quarantined).toMatchObject({ sets: 3, rows: 6 });
  const later = statement(3 * DAY, LINES, { previous, forgetsBefore: DAY });
  expect(later.verdict).toBe("accounted");
  expect(later.quarantined).toEqual({
    sets: 2,
    rows: 4,
    segments: [{ from: "1970-01-01T00:00:00.000Z", sets: 2, rows: 4, carried: true }],
  });
  expect(statementProblem(later)).toBeNull();
  expect(later.previous?.unchanged).toBe(true);
});

test("a later statement lists only what changed in the earlier window", () => {
  const earlier = statement(2 * DAY, [...LINES, line("d", 30, "missing"), line("e", 40, "held")]);
  const later = statement(
    3 * DAY,
    [
      ...LINES,
      line("d", 30),
      line("e", 40, "held"),
      line("f", DAY + 6, "double"),
      line("g", 2 * DAY, "waiting"),
    ],
    { previous: earlier },
  );
  const { previous } = later;
  expect(previous?.unchanged).toBe(false);
  expect(previous?.segments.map(({ from }) => from)).toEqual([
    "1970-01-01T00:00:00.000Z",
    "1970-01-02T00:00:00.000Z",
  ]);
  expect(previous?.resolved.map(({ key }) => key)).toEqual(["d"]);
  expect(previous?.appeared.map(({ key }) => key)).toEqual(["f"]);
});

test("segments that the ledger may have forgotten are carried over with their exceptions", () => {
  const earlier = statement(2 * DAY, [...LINES, line("d", 30, "dead-lettered")]);
  const unknown = LINES.map((each) =>
    each.at < DAY ? { ...each, status: "unknown" as const } : each,
  );
  const later = statement(3 * DAY, unknown, { previous: earlier, forgetsBefore: DAY });
  expect(later.segments[0]).toEqual({ ...earlier.segments[0], carried: true });
  expect(later.counts).toMatchObject({ committed: 3, unknown: 0, "dead-lettered": 1 });
  expect(later.exceptions.map(({ key }) => key)).toEqual(["d"]);
  expect(later.previous?.unchanged).toBe(true);
});

test("a statement that was edited anywhere does not match its digest", () => {
  const original = statement(2 * DAY, [...LINES, line("d", 30, "missing")]);
  expect(original.verdict).toBe("incomplete");
  expect(statementProblem(original)).toBeNull();
  for (const change of [
    { verdict: "complete" as const },
    { exceptions: [] },
    { window: { from: null, to: "2027-01-01T00:00:00.000Z" } },
    { segments: original.segments.slice(1) },
  ]) {
    expect(statementProblem({ ...original, ...change })).toMatch(/does not match its digest/);
  }
});

test("every status of a line, and the order of lines, change the chain", () => {
  const chains = [
    statement(DAY, [line("a", 1), line("b", 2)]),
    statement(DAY, [line("a", 1), line("b", 2, "gone")]),
    statement(DAY, [line("b", 2), line("a", 1)]),
    statement(DAY, [line("a", 1)]),
  ].map(({ chain }) => chain);
  expect(new Set(chains).size).toBe(4);
});

test("a statement lists failures first, if there are too many exceptions", () => {
  const waiting = Array.from({ length: 10_000 }, (_, at) => line(`k${at}`, 1, "waiting"));
  const some = statement(DAY, [...waiting, line("z", 1, "missing")]);
  expect(some.exceptions).toHaveLength(10_000);
  expect(some.exceptions.at(-1)?.key).toBe("z");
  expect(some.exceptionsOmitted).toBe(1);
  expect(some.counts).toMatchObject({ waiting: 10_000, missing: 1 });
});

test("exceptions that an earlier statement omitted stay omitted, and are not resolved, in its chain", () => {
  const many = Array.from({ length: 10_003 }, (_, at) => line(`k${at}`, 1, "missing"));
  const earlier = statement(2 * DAY, many);
  expect(earlier.exceptionsOmitted).toBe(3);
  const later = statement(3 * DAY, [line("z", 2 * DAY, "held")], {
    previous: earlier,
    forgetsBefore: DAY,
  });
  expect(later.counts).toMatchObject({ missing: 10_003, held: 1 });
  expect(later.exceptions).toHaveLength(10_000);
  expect(later.exceptionsOmitted).toBe(4);
  expect(later.previous?.resolved).toEqual([]);
  const third = statement(4 * DAY, [], { previous: later, forgetsBefore: DAY });
  expect(third.exceptionsOmitted).toBe(3);
});
