// Start scheduled: the audits that the settings of a run ask for, on the ledger that it has open.

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { openAwsLister } from "../open/aws-environment.ts";
import { closeAll } from "../open/close-all.ts";
import type { Environment } from "../open/environment.ts";
import type { Server } from "../open/find-server.ts";
import type { ReadySettings } from "../prepare-run.ts";
import { auditSources, summaryOf } from "./audit-sources.ts";
import { openEffects } from "./open-effects.ts";
import { readQueue } from "./read-queue.ts";
import { auditTerms, type ScheduledAudits, startAudits } from "./scheduled-audits.ts";

/** Null if the settings ask for none. */
export function startScheduledAudits(
  pipeline: Pipeline,
  settings: ReadySettings,
  ports: {
    readonly ledger: Ledger;
    readonly telemetry: Telemetry;
    readonly server: Server;
    readonly looks?: Environment["looks"];
  },
): ScheduledAudits | null {
  const terms = auditTerms(settings);
  if (terms === null) return null;
  if (pipeline.source.contents !== "objects" || pipeline.source.bucket === null) {
    const message = "auditMinutes needs a pipeline that names its bucket; set source.bucket";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const { ledger, telemetry, server } = ports;
  const { suffix } = terms;
  const { clock } = systemPorts;
  return startAudits(
    {
      clock,
      ledger,
      telemetry,
      async runAudit(from, signal) {
        const listing = await openAwsLister(server);
        const closers: (() => unknown)[] = [listing.close];
        try {
          const { effects, what, close } = await openEffects(pipeline, ledger);
          closers.push(close);
          const looks = (await ports.looks?.()) ?? [];
          const sources = {
            ledger,
            lister: listing.lister,
            effects,
            sink: { checked: effects.length > 0, what },
            readQueue: () => readQueue(looks, pipeline, ledger, clock.now()),
          };
          return summaryOf(await auditSources(pipeline, sources, { from, suffix, signal }));
        } finally {
          await closeAll(closers);
        }
      },
    },
    pipeline,
    terms,
  );
}
