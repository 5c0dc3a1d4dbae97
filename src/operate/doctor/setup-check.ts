// Setup check: the findings of the doctor about a pipeline and its live queues.

import { reasonOf } from "../../core/errors.ts";
import type { Finding } from "../../doctor/rule.ts";
import { diagnose, RULES } from "../../doctor/rules/all-rules.ts";
import { EMPTY_SETUP, joinSetups, type Setup } from "../../doctor/setup.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Server } from "../../run/open/find-server.ts";
import { readLiveSetup } from "./live-setup.ts";
import { observedPipelineOf } from "./observed-pipeline.ts";

export interface SetupCheckOptions {
  /** The file of the pipeline, or its name. */
  readonly file: string;
  readonly queues: readonly string[];
  readonly server: Server;
}

export async function readSetupCheck(
  pipeline: Pipeline | null,
  options: SetupCheckOptions,
  now: number,
) {
  const { file, queues, server } = options;
  const setups: Setup[] = [];
  const unknown: string[] = [];
  if (pipeline !== null) {
    setups.push({ ...EMPTY_SETUP, pipeline: observedPipelineOf(pipeline, file) });
  } else unknown.push("the pipeline file is not known; start the console with --pipeline FILE");
  if (queues.length > 0) {
    try {
      const bucket = pipeline?.source.bucket ?? null;
      const { setup, notes } = await readLiveSetup({ queues, bucket, server });
      setups.push(setup);
      unknown.push(...notes);
    } catch (error) {
      unknown.push(`the queues could not be read: ${reasonOf(error)}`);
    }
  } else unknown.push("no queue is known; start the console with --queue");
  const findings = setups.length === 0 ? [] : diagnose(joinSetups(setups));
  return { at: now, findings: findings.map(viewOf), checked: RULES.length, unknown };
}

function viewOf({ rule, location, message }: Finding) {
  const { id, severity, fix } = rule;
  return { id, severity, subject: location.name, message, fix };
}
