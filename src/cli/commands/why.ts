// tidegate why: one event's life, from what the ledger remembers.

import { join } from "node:path";
import type { Ledger } from "../../ports/ledger.ts";
import { SETTINGS } from "../../run/config.ts";
import { command, EXIT_FAILED, EXIT_OK, text, toggle, wholeNumber } from "../command.ts";

const GENERATION_MAX = 1_000_000;
const PIPELINE_FILE = /\.m?[jt]s$/;

export const why = command({
  name: "why",
  summary: "Tell what became of an event: deliveries, attempts, outcome, effects, dead letter.",
  argument: {
    name: "WHAT",
    doc: "s3://bucket/key, a key in the pipeline's bucket, or a key of the ledger.",
  },
  flags: {
    ledger: { ...text("URL", null, SETTINGS.ledger.doc), env: SETTINGS.ledger.env },
    data: { ...text("FOLDER", SETTINGS.data.fallback, SETTINGS.data.doc), env: SETTINGS.data.env },
    pipeline: text(
      "FILE|NAME",
      null,
      "The pipeline's file or name; without it, all in the ledger.",
    ),
    generation: wholeNumber(
      "NUMBER",
      { min: 0, max: GENERATION_MAX },
      null,
      "Only this one; without it, 0 of a named pipeline, else all.",
    ),
    json: toggle("Print each life as a line of JSON."),
  },
  async run({ argument: what = "", flags, out }) {
    const [{ findHistories }, { describeHistory }, { openLedger }, { systemPorts }] =
      await Promise.all([
        import("../../run/why/event-history.ts"),
        import("../../run/why/describe-history.ts"),
        import("../../run/open/open-ledger.ts"),
        import("../../platform/index.ts"),
      ]);
    const named = await namedPipeline(flags.pipeline);
    const generation = flags.generation ?? named.generation;
    const url = flags.ledger ?? `sqlite:${join(flags.data ?? "", "ledger.db")}`;
    const ledger: Ledger = await openLedger(url, systemPorts, { migrate: false });
    try {
      const { pipeline, bucket } = named;
      const lives = await findHistories(ledger, { what, pipeline, bucket, generation });
      for (const [at, life] of lives.entries()) {
        if (flags.json) out.line(JSON.stringify(life));
        else
          for (const line of [...(at > 0 ? [""] : []), ...describeHistory(life, what)])
            out.line(line);
      }
      if (lives.length === 0) out.note(nothingOf(what));
      return lives.length > 0 ? EXIT_OK : EXIT_FAILED;
    } finally {
      await ledger.close();
    }
  },
});

interface Named {
  readonly pipeline?: string;
  readonly bucket?: string | null;
  readonly generation?: number;
}

async function namedPipeline(given: string | undefined): Promise<Named> {
  if (given === undefined) return {};
  if (!PIPELINE_FILE.test(given)) return { pipeline: given };
  const { loadPipeline } = await import("../../run/open/load-pipeline.ts");
  const { name: pipeline, source, generation } = await loadPipeline(given);
  return { pipeline, bucket: source.bucket, generation };
}

function nothingOf(what: string): string {
  return (
    `The ledger knows of no event of ${what}: none was committed, given up on or tried again. One ` +
    "that still waits, or is tried for the first time, is found by its key: idempotency_key in logs."
  );
}
