// tidegate retry: has a record that waits for its backoff tried now.
//   R1. The exit code is 0 if at least one record is retried, visible, or on its way by itself, and
//       1 if there is nothing to retry.

import type { RetryOutcome } from "../../../operate/history.ts";
import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle } from "../../command.ts";
import {
  generationFlag,
  ledgerLocation,
  serverLocation,
  sourceOptions,
} from "../../flags/location-flags.ts";

const GOES_ON: ReadonlySet<RetryOutcome["kind"]> = new Set(["retried", "visible", "waits"]);

export const retry = command({
  name: "retry",
  summary: "Try a record now that failed and waits for its backoff.",
  argument: {
    name: "WHAT",
    doc: "s3://bucket/key, or a business, record or event key, as for tidegate why.",
  },
  flags: {
    pipeline: text(
      "FILE|NAME",
      null,
      "Pipeline file or name (default: all pipelines of the ledger).",
    ),
    generation: generationFlag(
      "Only this generation (default: 0 of a named pipeline, otherwise all).",
    ),
    ...ledgerLocation,
    endpoint: serverLocation.endpoint,
    queue: {
      ...text("QUEUE", null, "Queue of the pipeline (default: all queues of the cloud)."),
      env: SETTINGS.queue.env,
    },
    json: toggle("Print JSON lines."),
  },
  async run({ argument: what = "", flags, out }) {
    const [{ Sources }, { historiesOf }, { retryText }] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/history.ts"),
      import("../../../operate/history/retry-record.ts"),
    ]);
    await using sources = new Sources(sourceOptions(flags));
    const results = await historiesOf(sources).retry(what);
    for (const { name, outcome } of results) {
      const line = `${name}: ${retryText(outcome, name, sources.clock.now())}`;
      out.line(flags.json ? JSON.stringify({ name, outcome: outcome.kind }) : line);
    }
    if (results.length === 0) out.note(`The ledger has no event of ${what}.`);
    const isGoing = results.some(({ outcome }) => GOES_ON.has(outcome.kind));
    return isGoing ? EXIT_OK : EXIT_FAILED; // R1
  },
});
