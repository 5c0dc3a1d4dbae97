// Replay manifest: the manifest of a replay, written to a folder or a bucket.

import { join } from "node:path";
import { outputLocations } from "../../lineage/recorded/output-locations.ts";
import { manifestOfRun } from "../../lineage/recorded/recorded-manifest.ts";
import { findRecordedRun } from "../../lineage/recorded/recorded-run.ts";
import type { ReplayEntry } from "../../replay/replay-registry.ts";
import type { Server } from "../../run/open/find-server.ts";
import { checkManifestTarget, openManifestTarget } from "../../run/open/manifest-target.ts";
import type { ReplayContext } from "./replay-context.ts";
import { refuseReplay } from "./replay-refusals.ts";

/** Writes `RUN/run_manifest.json` below `to`; returns where. */
export async function writeReplayManifest(
  { pipeline, url, ledger }: ReplayContext,
  server: Server,
  entry: ReplayEntry,
  to: string,
): Promise<string> {
  checkManifestTarget(to, pipeline);
  const scope = { pipeline: pipeline.name, generation: entry.generation };
  const target = await openManifestTarget(to, server);
  try {
    const run = await findRecordedRun(ledger, [scope], entry.run);
    if (run === null) refuseReplay(`unknown run "${entry.run}"`);
    const path = `${entry.run}/run_manifest.json`;
    const pieces = manifestOfRun(ledger, run, outputLocations(pipeline, url), missingOf(entry));
    const sealed = run.row.endedAt === null ? "open" : "ended";
    await target.replace(path, { sealed, pieces }, new AbortController().signal);
    return to.startsWith("s3://") ? `${to.replace(/\/$/, "")}/${path}` : join(to, path);
  } finally {
    target.close();
  }
}

/** What a replay did without. */
export function missingOf({ missing }: ReplayEntry): readonly { uri: string; reason: string }[] {
  return missing.map(({ uri, reason }) => ({ uri, reason }));
}
