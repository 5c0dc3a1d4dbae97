// tidegate watermark: up to which event time a pipeline is complete, and what holds it back.
//   W1. With --wait-until, the exit code is 0 once every record before that instant is settled, and
//       1 after --timeout. What holds it back is printed whenever it changes.
//   W2. Without a pipeline file, queued messages are not known, so only the ledger's view is shown.

import { INSTANT_MS_MAX } from "../../../core/encoding/rfc3339.ts";
import { seconds } from "../../../core/units.ts";
import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import { ledgerLocation, serverLocation, sourceOptions } from "../../flags/location-flags.ts";
import { timeFlag } from "../../flags/time-flag.ts";

const TIMEOUT_S_MAX = Math.floor(INSTANT_MS_MAX / 1_000);

export const watermark = command({
  name: "watermark",
  summary: "Show up to which event time a pipeline is complete, and what holds it back.",
  argument: {
    name: "FILE",
    doc: "Pipeline file (default: what the ledger knows of its pipelines).",
    optional: true,
  },
  flags: {
    "wait-until": timeFlag("Wait until every record before this time is settled, then exit."),
    timeout: wholeNumber(
      "S",
      { min: 0, max: TIMEOUT_S_MAX },
      null,
      "Seconds to wait at most (default: no limit).",
    ),
    ...ledgerLocation,
    ...serverLocation,
    queue: {
      ...text("QUEUE", null, "Queue of the pipeline (default: from the pipeline file)."),
      env: SETTINGS.queue.env,
    },
    json: toggle("Print JSON lines."),
  },
  async run({ argument: file, flags, out }) {
    const [{ Sources }, { completenessOf }, words] = await Promise.all([
      import("../../../operate/sources.ts"),
      import("../../../operate/completeness.ts"),
      import("../../print/watermark-text.ts"),
    ]);
    await using sources = new Sources(sourceOptions({ ...flags, pipeline: file }));
    const completeness = completenessOf(sources);
    const print = flags.json ? words.completenessJson : words.completenessLine;
    const until = flags["wait-until"];
    if (until === undefined) {
      for (const each of await completeness.read()) out.line(print(each));
      return EXIT_OK;
    }
    if (file === undefined) throw new UsageError("--wait-until needs a pipeline file"); // W2
    const timeoutMs = flags.timeout === undefined ? undefined : seconds(flags.timeout);
    const waiting = completeness.waitUntil(until, { timeoutMs });
    for await (const state of waiting) out.line(print(state));
    return (await waiting.result()) ? EXIT_OK : EXIT_FAILED; // W1
  },
});
