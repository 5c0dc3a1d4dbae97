// tidegate why: the history of an event, from the ledger.

import { command, EXIT_FAILED, EXIT_OK, text, toggle } from "../../command.ts";
import { generationFlag, ledgerLocation, sourceOptions } from "../../flags/location-flags.ts";

export const why = command({
  name: "why",
  summary: "Show what happened to an event: deliveries, attempts, outcome, effects, dead letter.",
  argument: {
    name: "WHAT",
    doc: "s3://bucket/key, an object key in the pipeline's bucket, a business, record or event key, or an event id, message id or part of an object name.",
  },
  flags: {
    ...ledgerLocation,
    pipeline: text(
      "FILE|NAME",
      null,
      "Pipeline file or name (default: all pipelines of the ledger).",
    ),
    generation: generationFlag(
      "Only this generation (default: 0 of a named pipeline, otherwise all).",
    ),
    json: toggle("Print each history as a JSON line."),
  },
  async run({ argument: what = "", flags, out }) {
    const [{ Sources }, { historiesOf }, { describeHistory }] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/history.ts"),
      import("../../../operate/history/describe-history.ts"),
    ]);
    await using sources = new Sources(sourceOptions(flags));
    const histories = await historiesOf(sources).find(what);
    for (const [at, history] of histories.entries()) {
      if (flags.json) out.line(JSON.stringify(history));
      else {
        if (at > 0) out.line("");
        for (const line of describeHistory(history, what)) out.line(line);
      }
    }
    if (histories.length === 0) out.note(nothingOf(what));
    return histories.length > 0 ? EXIT_OK : EXIT_FAILED;
  },
});

function nothingOf(what: string): string {
  return (
    `The ledger has no event of ${what}: none was claimed, committed, dead-lettered or retried. An ` +
    "event that is queued, or whose first attempt runs on its receipt, is not in the ledger yet."
  );
}
