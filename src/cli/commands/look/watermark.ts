// tidegate watermark: up to which event time a pipeline is complete, and what holds it back.
//   W1. With --wait-until, the exit code is 0 once every record before that instant is settled, and
//       1 after --timeout. What holds it back is printed whenever it changes.
//   W2. Without a pipeline file, queued messages are not known, so only the ledger's view is shown.

import { INSTANT_MS_MAX } from "../../../core/encoding/rfc3339.ts";
import { durationMs, type EpochMs, seconds } from "../../../core/units.ts";
import { SETTINGS } from "../../../run/config.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type ExitCode,
  text,
  toggle,
  UsageError,
  wholeNumber,
} from "../../command.ts";
import type { Output } from "../../screen/output.ts";
import { ledgerLocation, serverLocation } from "../../words/location-flags.ts";
import { timeFlag } from "../../words/time-flag.ts";

const TIMEOUT_S_MAX = Math.floor(INSTANT_MS_MAX / 1_000);
const POLL_MS = seconds(1);

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
    const [{ openWatermarkSession }, words, { systemPorts }] = await Promise.all([
      import("../../sessions/watermark-session.ts"),
      import("../../reports/watermark-text.ts"),
      import("../../../platform/index.ts"),
    ]);
    const session = await openWatermarkSession(file, flags);
    const print = flags.json ? words.completenessJson : words.completenessLine;
    try {
      const until = flags["wait-until"];
      if (until === undefined) {
        for (const each of await session.read()) out.line(print(each));
        return EXIT_OK;
      }
      if (file === undefined) throw new UsageError("--wait-until needs a pipeline file"); // W2
      const { clock } = systemPorts;
      const timeoutMs = flags.timeout === undefined ? null : durationMs(flags.timeout * 1_000);
      return await waitUntil({ clock, session, print }, { until, timeoutMs }, out);
    } finally {
      await session.close();
    }
  },
});

interface Waiting {
  readonly clock: typeof import("../../../platform/index.ts")["systemPorts"]["clock"];
  readonly session: import("../../sessions/watermark-session.ts").WatermarkSession;
  readonly print: typeof import("../../reports/watermark-text.ts")["completenessLine"];
}

/** W1 */
async function waitUntil(
  { clock, session, print }: Waiting,
  { until, timeoutMs }: { readonly until: EpochMs; readonly timeoutMs: number | null },
  out: Output,
): Promise<ExitCode> {
  const startedAt = clock.monotonic();
  let shown = "";
  for (;;) {
    const [state] = await session.read();
    if (state === undefined) return EXIT_FAILED;
    const line = print(state);
    if (line !== shown) out.line(line);
    shown = line;
    if (state.at !== null && state.at >= until) return EXIT_OK;
    if (timeoutMs !== null && clock.monotonic() - startedAt >= timeoutMs) return EXIT_FAILED;
    await clock.sleep(POLL_MS);
  }
}
