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
    const { findRule, RULES, ruleText } = await import("../../../operate/doctor/report.ts");
    const rule = findRule(word);
    if (rule === undefined) {
      const names = RULES.flatMap(({ id, name }) => [id, name]);
      const hint = didYouMean(word, names) || "run tidegate doctor --list-rules to see all rules";
      throw new UsageError(`unknown rule "${word}"; ${hint}`);
    }
    for (const line of ruleText(rule)) out.line(line);
    const { storyOfRule } = await import("../../../sim/mistakes/explain-mistake.ts");
    const { afterPromiseJobs } = await import("../../../platform/system-turn.ts");
    const story = await storyOfRule(rule.name, afterPromiseJobs);
    if (story.kind === "harmless") {
      out.note("the simulator found no run in which this setting does harm");
      return EXIT_FAILED;
    }
    if (story.kind === "run") for (const line of ["", ...story.lines]) out.line(line);
    else if (story.reason !== undefined) {
      for (const line of ["", `No run shows it: ${story.reason}`]) out.line(line);
    }
    return EXIT_OK;
  },
});
