import { describe, expect, test } from "vitest";
import { isFullSize, sampleOf } from "../../../test/support/full-size.ts";
import { RULES } from "../../doctor/rules/all-rules.ts";
import { afterPromiseJobs as drain } from "../../platform/system-turn.ts";
import { runSeed } from "../run-seed.ts";
import { WITHOUT_WORLD } from "./delivery-mistakes.ts";
import { explainMistake } from "./explain-mistake.ts";
import { mistakeStory } from "./mistake-story.ts";
import { MISTAKES, optionsOf } from "./mistakes.ts";

/** Further worlds in which the setting must do no harm. */
const OTHER_WORLDS = isFullSize ? 5 : 1;

test("every mistake belongs to a rule about loss, double effects or order", () => {
  const risks = new Map(RULES.map(({ name, risk }) => [name, risk]));
  for (const { rule } of MISTAKES) {
    expect(["loss", "double effect", "order"], rule).toContain(risks.get(rule));
  }
  expect(new Set(MISTAKES.map(({ rule }) => rule)).size).toBe(MISTAKES.length);
});

test("every rule about loss or double effects has a world, or a reason why not", () => {
  const rules = RULES.filter(({ risk }) => risk === "loss" || risk === "double effect");
  const shown = new Set(MISTAKES.map(({ rule }) => rule));
  for (const { name } of rules)
    expect([name, shown.has(name) !== name in WITHOUT_WORLD]).toEqual([name, true]);
});

describe.each(sampleOf(2, MISTAKES))("$rule", (mistake) => {
  test("does harm with the setting, and none without it in the same world", async () => {
    const explained = await explainMistake(mistake, drain);
    expect(explained?.broken.violations[0]?.checker).toBe(mistake.checker.name);
    expect(explained?.fixed.violations).toEqual([]);
    if (explained === null) return;
    const text = mistakeStory(mistake, explained).join("\n");
    expect(text).toContain("+0.000 s");
    expect(text).not.toMatch(/undefined\)|incarnation/);
  });

  test("does no harm without the setting in other worlds", async () => {
    for (let seed = 1_000; seed < 1_000 + OTHER_WORLDS; seed += 1) {
      const { fired } = await runSeed(seed, { ...optionsOf(mistake, mistake.fixed), drain });
      const allowed = fired.flatMap(({ id }) => (mistake.faults?.test(id) === false ? [] : [id]));
      const report = await runSeed(seed, {
        ...optionsOf(mistake, mistake.fixed),
        drain,
        only: new Set(allowed),
      });
      expect(report.violations, `seed ${seed}`).toEqual([]);
    }
  });
});
