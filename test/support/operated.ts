// Operated: one action of an operator that is opened and closed for it.

import type { AuditLine, AuditRequest, Statement } from "../../src/operate/audits.ts";
import type { BackfillRequest, BackfillResult } from "../../src/operate/backfill.ts";
import { openOperator } from "../../src/operate/open-operator.ts";
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
