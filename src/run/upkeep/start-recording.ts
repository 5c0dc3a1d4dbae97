// Start recording: the row of a run in the ledger, its lineage events and its manifests.

import { hostname } from "node:os";
import type { Consumer } from "../../ingest/running/consumer.ts";
import { type LiveManifests, startLiveManifests } from "../../lineage/recorded/live-manifests.ts";
import { outputLocations } from "../../lineage/recorded/output-locations.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Server } from "../open/find-server.ts";
import { checkManifestTarget, openManifestTarget } from "../open/manifest-target.ts";
import type { PreparedRun } from "../prepare-run.ts";
import { startLineageEvents } from "./lineage-events.ts";
import { isProcessRunning } from "./process-running.ts";
import { recordRun } from "./record-run.ts";

interface RecordingPorts {
  readonly ledger: Ledger;
  readonly consumer: Consumer;
  readonly telemetry: Telemetry;
  readonly runId: string;
  readonly state: { readonly failure: string | null };
  readonly file: string | undefined;
  readonly server: Server;
}

/** Records the run in the ledger and reports it; returns how to end both. */
export async function startRecording(
  ports: RecordingPorts,
  prepared: PreparedRun,
): Promise<() => Promise<void>> {
  const { ledger, telemetry, runId, state, file } = ports;
  const { pipeline, settings } = prepared;
  if (settings.manifests !== undefined) checkManifestTarget(settings.manifests, pipeline);
  const recorder = await recordRun(ports, runId, prepared, file);
  const run = { id: runId, pipeline, ledgerUrl: settings.ledger };
  const reporting = { ...systemPorts, ledger, telemetry };
  const events = await startLineageEvents(reporting, run, settings.openlineage);
  const manifests = await startManifests(ports, prepared);
  return async () => {
    await recorder.close();
    await manifests?.close();
    await events.close(state.failure);
  };
}

async function startManifests(
  { ledger, telemetry, runId, server }: RecordingPorts,
  { pipeline, settings }: PreparedRun,
): Promise<LiveManifests | null> {
  const { manifests, ledger: url } = settings;
  if (manifests === undefined) return null;
  const target = await openManifestTarget(manifests, server);
  const { name, generation } = pipeline;
  return startLiveManifests(
    { ...systemPorts, ledger, telemetry, target, isAlive },
    {
      scope: { pipeline: name, generation },
      runId,
      locationOf: outputLocations(pipeline, url),
    },
  );
}

/** A process with our own id may be an earlier life in a container, so nothing is known of it. */
function isAlive(host: string, pid: number): boolean | null {
  if (host !== hostname() || pid === process.pid || !Number.isSafeInteger(pid)) return null;
  return isProcessRunning(pid);
}
