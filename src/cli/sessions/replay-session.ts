// Replay session: the replays that a command works on: those of a pipeline file, or of the file
// that a run recorded.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import { listReplays, type ReplayEntry } from "../../replay/replay-registry.ts";
import { outputLocations } from "../../run/lineage/output-locations.ts";
import { manifestOfRun } from "../../run/lineage/recorded-manifest.ts";
import { findRecordedRun } from "../../run/lineage/recorded-run.ts";
import { checkManifestTarget, openManifestTarget } from "../../run/manifests/manifest-target.ts";
import { findServer, ledgerUrl, type Server } from "../../run/open/find-server.ts";
import { loadPipeline } from "../../run/open/load-pipeline.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { prepareRun } from "../../run/prepare-run.ts";
import { openReplays } from "../../run/replay/open-replays.ts";
import type { Replays } from "../../run/replay/replays.ts";

export interface ReplayLocation {
  readonly ledger: string | undefined;
  readonly data: string | undefined;
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly "tables-database": string | undefined;
}

/** The replays of a pipeline file, and its bucket. */
export async function openReplaySession(
  location: ReplayLocation,
  file: string,
  change: (pipeline: Pipeline) => Pipeline = (pipeline) => pipeline,
) {
  const { data, endpoint, region } = location;
  const tablesDatabase = location["tables-database"];
  const loaded = await loadPipeline(file);
  const { pipeline: prepared } = prepareRun("run", loaded, {
    ...(tablesDatabase !== undefined && { tablesDatabase }),
  });
  const pipeline = change(prepared);
  const url = ledgerUrl(location);
  const where = { ledger: url, data, endpoint, region };
  const replays: Replays = await openReplays(pipeline, { ...where, file });
  const writeManifest = async (entry: ReplayEntry, folder: string) =>
    writeRunManifest({ pipeline, url, entry, server: await findServer(where) }, folder);
  return { replays, pipeline, prepared, bucket: pipeline.source.bucket, writeManifest };
}

interface ManifestOf {
  readonly pipeline: Pipeline;
  readonly url: string;
  readonly entry: ReplayEntry;
  readonly server: Server;
}

/** Writes the manifest of a replay to a folder or a bucket; returns where. */
async function writeRunManifest(of: ManifestOf, to: string): Promise<string> {
  const { pipeline, url, entry, server } = of;
  checkManifestTarget(to, pipeline);
  const scope = { pipeline: pipeline.name, generation: entry.generation };
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  const target = await openManifestTarget(to, server);
  try {
    const run = await findRecordedRun(ledger, [scope], entry.run);
    if (run === null) throw new TidegateError("TG_REPLAY_REFUSED", `unknown run "${entry.run}"`);
    const path = `${entry.run}/run_manifest.json`;
    const locations = outputLocations(pipeline, url);
    const pieces = manifestOfRun(ledger, run, locations, missingOf(entry));
    const sealed = run.row.endedAt === null ? "open" : "ended";
    await target.replace(path, { sealed, pieces }, new AbortController().signal);
    return to.startsWith("s3://") ? `${to.replace(/\/$/, "")}/${path}` : join(to, path);
  } finally {
    target.close();
    await ledger.close();
  }
}

/** What a replay did without. */
export function missingOf({ missing }: ReplayEntry): readonly { uri: string; reason: string }[] {
  return missing.map(({ uri, reason }) => ({ uri, reason }));
}

/** All replays of the ledger, of any pipeline. */
export async function allReplays(location: ReplayLocation): Promise<ReplayEntry[]> {
  const opened = await openLedger(ledgerUrl(location), systemPorts, { readOnly: true });
  try {
    const entries: ReplayEntry[] = [];
    for (const { pipeline, generation } of await opened.stats()) {
      entries.push(...(await listReplays(opened, { pipeline, generation })));
    }
    return entries;
  } finally {
    await opened.close();
  }
}

/** The replays that have the run: of the given file, or of the file that it recorded. */
export async function sessionOfRun(
  location: ReplayLocation & { readonly pipeline: string | undefined },
  run: string,
) {
  if (location.pipeline !== undefined) return openReplaySession(location, location.pipeline);
  const entry = (await allReplays(location)).find((each) => each.run === run);
  if (entry === undefined) {
    const message = `unknown run "${run}"; list them with tidegate replay list`;
    throw new TidegateError("TG_REPLAY_REFUSED", message);
  }
  if (entry.file === null || !existsSync(entry.file)) {
    const message = `the pipeline file of the run ${run} is not there; name it with --pipeline FILE`;
    throw new TidegateError("TG_REPLAY_REFUSED", message);
  }
  return openReplaySession(location, entry.file);
}
