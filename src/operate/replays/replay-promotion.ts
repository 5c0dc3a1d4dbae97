// Replay promotion: the shadow of a replay compared with the live tables, promoted, or dropped.

import type { Promotion, Shadow, TableContent, TableDifference } from "../../ports/shadow.ts";
import { forgetReplay, notePromotion, requireReplay } from "../../replay/replay-registry.ts";
import { type ReplayContext, scopeOf, shadowOf } from "./replay-context.ts";
import { refuseReplay } from "./replay-refusals.ts";
import { statusOf } from "./replay-status.ts";

/** What a promotion would change; at most so many rows are shown of each table. */
export function diffReplay(
  context: ReplayContext,
  run: string,
  samplesMax: number,
): Promise<readonly TableDifference[]> {
  return withShadow(context, run, async (shadow) => {
    if ((await shadow.state()) === null) refuseReplay(`the run ${run} has no shadow to compare`);
    return await shadow.diff(samplesMax);
  });
}

/** The rows of a shadow, as hashes. */
export function contentsOf(context: ReplayContext, run: string): Promise<readonly TableContent[]> {
  return withShadow(context, run, (shadow) => shadow.contents());
}

export async function promoteReplay(context: ReplayContext, run: string): Promise<Promotion> {
  const scope = scopeOf(context);
  const entry = await requireReplay(context.ledger, scope, run);
  const promotion = await withShadow(context, run, (shadow) => shadow.promote());
  await notePromotion(context, scope, entry);
  return promotion;
}

export async function dropReplay(context: ReplayContext, run: string): Promise<void> {
  const scope = scopeOf(context);
  const entry = await requireReplay(context.ledger, scope, run);
  const { state } = await statusOf(context, entry);
  if (state === "running") {
    refuseReplay(`the run ${run} is running; cancel it first with tidegate replay cancel ${run}`);
  }
  // A process may have died between the promotion and its note.
  if (state === "promoted") await notePromotion(context, scope, entry);
  if (entry.request.into === "shadow") await withShadow(context, run, (shadow) => shadow.drop());
  await forgetReplay(context.ledger, scope, entry);
}

async function withShadow<T>(
  context: ReplayContext,
  run: string,
  work: (shadow: Shadow) => Promise<T>,
): Promise<T> {
  const entry = await requireReplay(context.ledger, scopeOf(context), run);
  if (entry.request.into === "live") {
    refuseReplay(`the run ${run} wrote to the live tables; it has no shadow`);
  }
  const shadow = shadowOf(context, entry.shadow, entry.run);
  try {
    return await work(shadow);
  } finally {
    await shadow.close();
  }
}
