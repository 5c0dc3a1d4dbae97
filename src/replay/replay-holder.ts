// Replay holder: the process that runs a replay, and what came of it, in the ledger.
//   H1. It is information for operators, and keeps two processes from doing the same work. The
//       guarantees do not depend on it: fences and commits decide, as for live consumers.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { minutes } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { ReplayEntry } from "./replay-registry.ts";
import type { ReplayOutcome } from "./run-replay.ts";

const HOLDER = "holder";
/** A holder writes more often than this while it runs. */
export const HOLDER_MS_MAX: DurationMs = minutes(2);

export interface ReplayHolder {
  readonly host: string;
  readonly pid: number;
  /** Null while it runs. */
  readonly outcome: ReplayOutcome | null;
}

export interface SeenHolder extends ReplayHolder {
  readonly at: EpochMs;
}

export async function writeHolder(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  scope: LedgerScope,
  { generation }: ReplayEntry,
  holder: ReplayHolder,
): Promise<void> {
  const note = { kind: "replay", name: HOLDER, at: clock.now(), count: 1 } as const;
  await ledger.addNotes({ ...scope, generation }, [{ ...note, body: JSON.stringify(holder) }]);
}

export async function readHolder(
  ledger: Ledger,
  scope: LedgerScope,
  { generation }: ReplayEntry,
): Promise<SeenHolder | null> {
  const note = await ledger.findNote({ ...scope, generation }, "replay", HOLDER);
  if (note === undefined) return null;
  return { ...(JSON.parse(note.body) as ReplayHolder), at: note.at };
}
