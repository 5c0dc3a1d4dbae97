// tidegate why: the history of an event, from the ledger.

import type { Ledger } from "../../../ports/ledger.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle } from "../../command.ts";
import { generationFlag, ledgerLocation } from "../../words/location-flags.ts";

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
    const [{ findHistories }, { describeHistory }, { openLedger }, { ledgerUrl }, { systemPorts }] =
      await Promise.all([
        import("../../../run/why/event-history.ts"),
        import("../../../run/why/describe-history.ts"),
        import("../../../run/open/open-ledger.ts"),
        import("../../../run/open/find-server.ts"),
        import("../../../platform/index.ts"),
      ]);
    const { namedPipeline } = await import("../../reports/named-pipeline.ts");
    const named = await namedPipeline(flags.pipeline);
    const generation = flags.generation ?? named.generation;
    const url = ledgerUrl(flags);
    const ledger: Ledger = await openLedger(url, systemPorts, { readOnly: true });
    try {
      const { pipeline, bucket } = named;
      const histories = await findHistories(ledger, { what, pipeline, bucket, generation });
      for (const [at, history] of histories.entries()) {
        if (flags.json) out.line(JSON.stringify(history));
        else
          for (const line of [...(at > 0 ? [""] : []), ...describeHistory(history, what)])
            out.line(line);
      }
      if (histories.length === 0) out.note(nothingOf(what));
      return histories.length > 0 ? EXIT_OK : EXIT_FAILED;
    } finally {
      await ledger.close();
    }
  },
});

function nothingOf(what: string): string {
  return (
    `The ledger has no event of ${what}: none was claimed, committed, dead-lettered or retried. An ` +
    "event that is queued, or whose first attempt runs on its receipt, is not in the ledger yet."
  );
}
