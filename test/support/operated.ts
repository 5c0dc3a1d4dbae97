// Operated: one action of an operator that is opened and closed for it.

import type { AuditLine, AuditRequest, Statement } from "../../src/operate/audits.ts";
import type { BackfillRequest, BackfillResult } from "../../src/operate/backfill.ts";
import { openOperator } from "../../src/operate/open-operator.ts";
import type {
  ReplayRunOptions,
  ReplaySelection,
  ReplayStatus,
  ReplayStep,
  Replays,
} from "../../src/operate/replays/replays.ts";
import type { SourceOptions } from "../../src/operate/sources.ts";

type Given = NonNullable<SourceOptions["pipeline"]>;
type Where = Omit<SourceOptions, "pipeline">;

export interface AuditCall extends AuditRequest {
  readonly onLine?: (line: AuditLine) => void;
  readonly onWarning?: (message: string) => void;
}

export async function audit(
  pipeline: Given,
  where: Where,
  { onLine, onWarning, ...request }: AuditCall = {},
): Promise<Statement> {
  await using operator = openOperator({ ...where, pipeline });
  const run = operator.audits.run(request);
  for await (const step of run) {
    if (step.kind === "warning") onWarning?.(step.message);
    else for (const line of step.lines) onLine?.(line);
  }
  return run.result();
}

export async function repair(
  pipeline: Given,
  where: Where,
  statement: Statement,
  request: Pick<BackfillRequest, "onLogLine"> = {},
): Promise<number> {
  await using operator = openOperator({ ...where, pipeline });
  return (await operator.audits.repair(statement, request).result()).done;
}

export async function backfill(
  pipeline: Given,
  where: Where,
  request: BackfillRequest,
): Promise<BackfillResult> {
  await using operator = openOperator({ ...where, pipeline });
  return operator.backfill(request).result();
}

type Started<Of> = (of: Of, options?: StartOptions) => Promise<ReplayStatus>;

interface StartOptions extends ReplayRunOptions {
  readonly onPause?: (pause: Extract<ReplayStep, { kind: "waiting" }>["pause"]) => void;
}

/** Replays that are awaited as a whole; `more` holds for each of them. */
export interface OpenedReplays extends Omit<Replays, "start" | "resume">, AsyncDisposable {
  readonly start: Started<ReplaySelection>;
  readonly resume: Started<string>;
}

export type ReplayWhere = Where & Pick<ReplayRunOptions, "telemetry">;

export async function openReplays(
  pipeline: Given,
  { telemetry, ...where }: ReplayWhere,
): Promise<OpenedReplays> {
  const { replays, close } = openOperator({ ...where, pipeline });
  const whole = async (
    run: ReturnType<Replays["start"]>,
    onPause: StartOptions["onPause"],
  ): Promise<ReplayStatus> => {
    for await (const step of run) if (step.kind === "waiting") onPause?.(step.pause);
    return run.result();
  };
  return {
    ...replays,
    start: (selection, { onPause, ...options } = {}) =>
      whole(replays.start(selection, { telemetry, ...options }), onPause),
    resume: (run, { onPause, ...options } = {}) =>
      whole(replays.resume(run, { telemetry, ...options }), onPause),
    [Symbol.asyncDispose]: close,
  };
}
