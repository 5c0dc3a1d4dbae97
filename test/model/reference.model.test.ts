// Tests the comparison itself: the reference agrees with itself, and every planted bug is found.

import { describe, expect, test } from "vitest";
import { isFullSize, sampleOf } from "../support/full-size.ts";
import { findDisagreement } from "./harness/campaign.ts";
import { createReferenceSubject } from "./harness/subject.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";

const COMMANDS_MAX = 60;
const SEED = 20_250_101;

test("the reference agrees with itself over random schedules", async () => {
  const report = await findDisagreement(() => createReferenceSubject(), {
    runs: isFullSize ? 150 : 30,
    commandsMax: COMMANDS_MAX,
    seed: SEED,
    shrinks: true,
  });
  expect(report).toBeNull();
});

describe("the comparison finds a broker in which", () => {
  test.each(sampleOf(4, Object.entries(PLANTED_BUGS)))("%s", async (_what, createBug) => {
    const report = await findDisagreement(() => createReferenceSubject(createBug()), {
      runs: 1_000,
      commandsMax: COMMANDS_MAX,
      seed: SEED,
      shrinks: false,
    });
    expect(report).toMatch(/^Property failed/);
  });
});
