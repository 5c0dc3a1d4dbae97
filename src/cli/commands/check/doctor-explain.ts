// tidegate doctor explain: what a rule is about, and the shortest run in which its mistake does
// harm.

import { command, EXIT_FAILED, EXIT_OK, UsageError } from "../../command.ts";
import { didYouMean } from "../../flags/suggest.ts";

export const doctorExplain = command({
  name: "doctor explain",
  summary:
    "Explain a rule of the doctor, with the shortest run in which a message is lost or doubled.",
  argument: { name: "RULE", doc: "Id or name of a rule, such as TGD001 or pipe-to-ecs." },
  flags: {},
  async run({ argument: word = "", out }) {
    const { findRule, RULES } = await import("../../../doctor/rules/all-rules.ts");
    const { ruleText } = await import("../../../doctor/report/diagnosis-text.ts");
    const rule = findRule(word);
    if (rule === undefined) {
      const names = RULES.flatMap(({ id, name }) => [id, name]);
      const hint = didYouMean(word, names) || "run tidegate doctor --list-rules to see all rules";
      throw new UsageError(`unknown rule "${word}"; ${hint}`);
    }
    for (const line of ruleText(rule)) out.line(line);
    const { MISTAKES } = await import("../../../sim/mistakes/mistakes.ts");
    const mistake = MISTAKES.find((each) => each.rule === rule.name);
    if (mistake === undefined) {
      const { WITHOUT_WORLD } = await import("../../../sim/mistakes/delivery-mistakes.ts");
      const reason = WITHOUT_WORLD[rule.name];
      for (const line of reason === undefined ? [] : ["", `No run shows it: ${reason}`])
        out.line(line);
      return EXIT_OK;
    }
    const { afterPromiseJobs } = await import("../../../platform/system-turn.ts");
    const { explainMistake } = await import("../../../sim/mistakes/explain-mistake.ts");
    const { mistakeStory } = await import("../../../sim/mistakes/mistake-story.ts");
    const explained = await explainMistake(mistake, afterPromiseJobs);
    if (explained === null) {
      out.note("the simulator found no run in which this setting does harm");
      return EXIT_FAILED;
    }
    for (const line of ["", ...mistakeStory(mistake, explained)]) out.line(line);
    return EXIT_OK;
  },
});
