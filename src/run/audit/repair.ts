// Repair: takes what an audit found missing through the pipeline, by a backfill.
//   P1. The backfill takes in the objects that the statement names. If it could not list all of
//       them, the backfill takes in everything below the prefix that the ledger does not have.
//   P2. A repair is a run of its own: it neither continues a backfill that was killed, nor ends it.
//       So its request has a start that no other has, before every object.
//   P3. A backfill never applies twice: the object's row decides (decision 0024).

import type { Statement } from "../../audit/statement.ts";
import { epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { type BackfillCall, backfill } from "../backfill/open-backfill.ts";
import type { RunSettings } from "../config.ts";

/** Ingests what is missing; returns how many objects have an outcome now. */
export async function repair(
  pipeline: Pipeline,
  settings: RunSettings,
  statement: Statement,
  call: Pick<BackfillCall, "file" | "signal" | "onLogLine" | "onPause"> = {},
): Promise<number> {
  const { subject, exceptions, counts } = statement;
  const missing = exceptions.filter(({ status }) => status === "missing");
  const keys = new Set(missing.map(({ key }) => key));
  const isListed = missing.length === counts.missing; // P1
  const { suffix = "" } = subject;
  const isMissing = (key: string) => (isListed ? keys.has(key) : key.endsWith(suffix));
  const { done } = await backfill(pipeline, settings, {
    ...call,
    bucket: subject.bucket,
    prefix: subject.prefix,
    since: epochMs(-Date.parse(statement.startedAt)), // P2
    ...((isListed || suffix !== "") && { only: ({ key }) => isMissing(key) }),
  });
  return done;
}
