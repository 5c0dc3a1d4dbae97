import { describe, expect, test } from "vitest";
import { CHECKERS } from "../../src/sim/checkers/all-checkers.ts";
import { catchBug, hunt, searchFor } from "./catch-bug.ts";
import { placesOf } from "./planted-bug.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

/** `TIDEGATE_PLANTED=search` looks for every bug from the first seed on. */
const catchIt = process.env.TIDEGATE_PLANTED === "search" ? searchFor : catchBug;
const BUG_MS_MAX = 1_200_000;

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

test("the twelve classic mistakes are among the planted bugs", () => {
  const names = PLANTED_BUGS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(THE_TWELVE));
  expect(new Set(names).size).toBe(names.length);
});

test.each(PLANTED_BUGS)("the place of $name is in its file exactly once", (bug) => {
  expect(placesOf(bug)).toBe(1);
  expect(bug.replace).not.toBe(bug.find);
  expect(CHECKERS.map(({ name }) => name)).toContain(bug.checker);
});

test("a bug that is not there cannot be hunted", async () => {
  await expect(hunt("no-such-bug", "1")).rejects.toThrow("there is no bug called no-such-bug");
});

describe("the swarm catches, and the code without the bug is clean at the same seed:", () => {
  test.each(PLANTED_BUGS)(
    "$name, seen by $checker",
    async (bug) => {
      const caught = await catchIt(bug);
      expect(caught?.checkers ?? []).toContain(bug.checker);
    },
    BUG_MS_MAX,
  );
});
