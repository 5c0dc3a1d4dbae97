// tidegate prove: runs a pipeline's handler through crashes, duplicates, failures and lost leases.
// It prints how many schedules the handler survived, or the shortest one that breaks it.

import { command, EXIT_FAILED, EXIT_OK, text, toggle, wholeNumber } from "../../command.ts";
import { runUserCode } from "../../run-user-code.ts";
import { createLiveScreen } from "../../screen/live-screen.ts";
import { PIPELINE_FILE } from "../start/run.ts";

const SEEDS = { min: 0, max: 100_000 };
const BAR_CHARS = 30;

export const prove = command({
  name: "prove",
  summary: "Test a pipeline's handler with crashes and duplicates at each of its awaits.",
  argument: PIPELINE_FILE,
  flags: {
    samples: text("PATH", null, "Folder of sample files, or file of JSON payloads."),
    seeds: wholeNumber("NUMBER", SEEDS, "100", "Seeded schedules after the enumerated ones."),
    json: toggle("Print the report as JSON."),
  },
  run: ({ argument: file = "", flags, out }) =>
    runUserCode(file, out, async () => {
      // Loaded here to keep help and usage errors fast.
      const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
      const pipeline = await loadPipeline(file);
      const { findSamples } = await import("./prove-samples.ts");
      const { samples, from } = await findSamples(pipeline, file, flags.samples);
      const { handlerProof, proofText } = await import("../../../testkit/proof/prove-handler.ts");
      const screen = out.terminal && !flags.json ? createLiveScreen(process.stdout) : null;
      const report = await handlerProof(pipeline, {
        samples,
        ...(flags.seeds !== undefined && { seeds: flags.seeds }),
        onProgress: ({ ran, of }) => screen?.show([progressLine(ran, of)]),
      }).finally(() => screen?.close());
      if (flags.json) out.line(JSON.stringify({ file, samples: from, ...report }));
      else for (const line of proofText(report)) out.line(line);
      return report.verdict === "survived" ? EXIT_OK : EXIT_FAILED;
    }),
});

function progressLine(ran: number, of: number): string {
  const full = Math.floor((BAR_CHARS * ran) / Math.max(1, of));
  return `[${"#".repeat(full)}${".".repeat(BAR_CHARS - full)}] ${ran} of ${of} schedules`;
}
