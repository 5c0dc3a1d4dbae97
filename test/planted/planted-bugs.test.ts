import { describe, expect, test } from "vitest";
import { CHECKERS } from "../../src/sim/checkers/all-checkers.ts";
import { patienceMs } from "../support/patience.ts";
import { catchBug, hunt, searchFor } from "./catch-bug.ts";
import { MASK_BUGS } from "./mask-bugs.ts";
import { occurrencesOf } from "./planted-bug.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";
import { TABLE_BUGS } from "./table-bugs.ts";

/**
 * By default a few bugs are caught, with `classic` the twelve classic mistakes, with `all` every
 * planted bug. `search` searches for every bug from the first seed on.
 */
const size = process.env.TIDEGATE_PLANTED ?? "few";
const catchIt = size === "search" ? searchFor : catchBug;
const BUG_MS_MAX = patienceMs(1_200_000);

const THE_TWELVE = [
  "ack-before-commit",
  "no-fence-check",
  "claim-without-expiry",
  "dedup-forgotten-on-restart",
  "dead-letter-move-in-two-steps",
  "heartbeat-missing",
  "group-not-halted",
  "sequencer-ignored",
  "outbox-marked-before-sent",
  "retry-without-cap",
  "watermark-free-late-drop",
  "counter-not-durable",
];

/** Of different kinds, and caught in two to four seconds each. */
const A_FEW = ["dead-letter-move-in-two-steps", "group-not-halted", "heartbeat-missing"];

const CHOICES: Readonly<Record<string, readonly string[]>> = { few: A_FEW, classic: THE_TWELVE };
const ALL_BUGS = [...PLANTED_BUGS, ...MASK_BUGS, ...TABLE_BUGS];
const CAUGHT = ALL_BUGS.filter(({ name }) => CHOICES[size]?.includes(name) ?? true);

test("the twelve classic mistakes are among the planted bugs", () => {
  const names = ALL_BUGS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(THE_TWELVE));
  expect(new Set(names).size).toBe(names.length);
});

test.each(ALL_BUGS)("the text that $name replaces occurs exactly once in its file", (bug) => {
  expect(occurrencesOf(bug)).toBe(1);
  expect(bug.replace).not.toBe(bug.find);
  expect(CHECKERS.map(({ name }) => name)).toContain(bug.checker);
});

test("an unknown bug is rejected", async () => {
  await expect(hunt("no-such-bug", "1")).rejects.toThrow('unknown planted bug "no-such-bug"');
});

describe("the swarm catches, at a seed without violations in the original code:", () => {
  test.each(CAUGHT)(
    "$name, reported by $checker",
    async (bug) => {
      const caught = await catchIt(bug);
      expect(caught?.checkers ?? []).toContain(bug.checker);
    },
    BUG_MS_MAX,
  );
});
