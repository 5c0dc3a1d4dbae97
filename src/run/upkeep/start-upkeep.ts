// Start upkeep: what runs beside a pipeline on a schedule: purges, sweeps of jobs, and audits.

import { days, minutes } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Sink } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Environment } from "../open/environment.ts";
import type { Server } from "../open/find-server.ts";
import { findOutbox, openOutbox } from "../open/open-outbox.ts";
import { parseStoreUrl } from "../open/store-url.ts";
import type { ReadySettings } from "../prepare-run.ts";
import { type JobSweeps, startJobSweeps } from "./job-sweeps.ts";
import { startLedgerPurger } from "./ledger-purger.ts";
import { startOutboxPurger } from "./outbox-purger.ts";
import type { RowPurger } from "./row-purger.ts";
import { startScheduledAudits } from "./scheduled-audits.ts";
import { stageSweep } from "./stage-sweep.ts";

interface UpkeepPorts {
  readonly ledger: Ledger;
  readonly telemetry: Telemetry;
  readonly sink: Sink | null;
  readonly server: Server;
}

/** Purges, and sweeps if the settings ask for it. */
export function startUpkeep(
  pipeline: Pipeline,
  settings: ReadySettings,
  ports: UpkeepPorts & { readonly queue: Queue; readonly looks?: Environment["looks"] },
): RowPurger[] {
  const sweeps = startSweeps(pipeline, settings, ports);
  const audits = startScheduledAudits(pipeline, settings, ports);
  const optional = [sweeps, audits].filter((each) => each !== null);
  return [...startPurgers(pipeline, settings, ports), ...optional];
}

/** Deletes expired rows of the ledger, and of an outbox in the same store. */
function startPurgers(
  { retention: { outboxDays } }: Pipeline,
  { ledger: url, acceptClock = false }: ReadySettings,
  { ledger, telemetry, sink }: UpkeepPorts,
): RowPurger[] {
  const ports = { ...systemPorts, telemetry };
  const find = () => findOutbox(url, systemPorts, { acceptClock });
  const keepMs = outboxDays === null ? null : days(outboxDays);
  return [
    startLedgerPurger(
      { ...ports, ledger, ...stageSweep(sink, ledger) },
      parseStoreUrl(url, "ledger").store,
    ),
    startOutboxPurger({ ...ports, findOutbox: find }, keepMs),
  ];
}

const STUCK_MINUTES_DEFAULT = 720;

/** Sends unsent and stuck jobs on a schedule, if the settings ask for it. */
function startSweeps(
  { name, generation }: Pipeline,
  { ledger: ledgerUrl, outbox: url, sweepMinutes = 0, ...settings }: ReadySettings,
  { ledger, telemetry, queue }: Pick<UpkeepPorts, "ledger" | "telemetry"> & { queue: Queue },
): JobSweeps | null {
  if (sweepMinutes === 0) return null;
  const find = () =>
    url === undefined ? findOutbox(ledgerUrl, systemPorts) : openOutbox(url, systemPorts);
  return startJobSweeps(
    { ...systemPorts, ledger, telemetry, target: queue, findOutbox: find },
    {
      scope: { pipeline: name, generation },
      everyMs: minutes(sweepMinutes),
      stuckAfterMs: minutes(settings.stuckMinutes ?? STUCK_MINUTES_DEFAULT),
    },
  );
}
