// Pause: an operator's order that a pipeline receives nothing, as a note in its ledger.
//   P1. The note does not expire, and only a resume removes it: a pause survives every restart.
//   P2. It belongs to one scope: another generation of the pipeline is not paused.
//   P3. A consumer looks at the note before its first receive, and then every PAUSE_LOOK_MS. Once
//       it has seen the pause, it neither receives nor begins a record; what has begun finishes.
//       A backfill and a replay into the live tables do the same (pause-gate.ts).
//   P4. A look that fails changes nothing: the last answer counts until the ledger answers again.
//   P5. Pausing a paused pipeline keeps the first pause, so that its time and reason stay true.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { type DurationMs, type EpochMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";

/** How often a consumer looks whether its pipeline is paused (P3). */
export const PAUSE_LOOK_MS: DurationMs = seconds(2);

/** One note per scope. */
const NAME = "pipeline";

/** Why a pipeline does not run, and since when. */
export interface Pause {
  readonly since: EpochMs;
  /** Who paused it. */
  readonly by: string;
  /** What the operator wrote; empty if nothing. */
  readonly reason: string;
}

/** The pause of a scope; null if it is not paused. */
export async function findPause(ledger: Ledger, scope: LedgerScope): Promise<Pause | null> {
  const note = await ledger.findNote(scope, "paused", NAME);
  return note === undefined ? null : { since: note.at, ...wordsIn(note.body) };
}

/** Pauses a scope, and returns the pause that holds now (P5). */
export async function setPause(ledger: Ledger, scope: LedgerScope, pause: Pause): Promise<Pause> {
  const existing = await findPause(ledger, scope);
  if (existing !== null) return existing;
  const { since, by, reason } = pause;
  const body = JSON.stringify({ by, reason });
  await ledger.addNotes(scope, [{ kind: "paused", name: NAME, at: since, count: 1, body }]);
  return pause;
}

/** Resumes a scope, and returns the pause that ended; null if there was none. */
export async function endPause(ledger: Ledger, scope: LedgerScope): Promise<Pause | null> {
  const existing = await findPause(ledger, scope);
  if (existing !== null) await ledger.removeNotes(scope, "paused", [NAME]);
  return existing;
}

/** A body that cannot be read is still a pause. */
function wordsIn(body: string): Pick<Pause, "by" | "reason"> {
  try {
    const { by, reason } = JSON.parse(body) as Record<string, unknown>;
    return { by: String(by ?? ""), reason: String(reason ?? "") };
  } catch {
    return { by: "", reason: "" };
  }
}

/** What one process knows of the pause of its pipeline. */
export interface PauseWatch {
  /** As of the last look that the ledger answered. */
  current(): Pause | null;
  /** Looks now. Rejects if the ledger does not answer. */
  look(): Promise<void>;
  /** Looks if the last look is older than PAUSE_LOOK_MS. Never rejects (P4). */
  refresh(): Promise<Pause | null>;
  /** Looks again and again until the signal aborts. Never rejects (P4). */
  keepLooking(signal: AbortSignal): Promise<void>;
}

export function createPauseWatch(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly telemetry: Telemetry },
  options: {
    readonly scope: LedgerScope;
    readonly queue: string;
    /** Called when the pipeline is paused, and when it is resumed. */
    readonly onChange?: (pause: Pause | null) => void;
  },
): PauseWatch {
  const { clock, ledger, telemetry } = ports;
  const { scope, queue, onChange = () => undefined } = options;
  let current: Pause | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    const startedAt = clock.monotonic();
    const pause = await findPause(ledger, scope);
    lookedAt = startedAt;
    telemetry.gauge(METRICS.paused.name, pause === null ? 0 : 1, { queue });
    const changed = (pause === null) !== (current === null);
    current = pause;
    if (!changed) return;
    report(telemetry, queue, pause);
    onChange(pause);
  };
  const tryLook = () => look().catch(() => undefined); // P4
  return {
    current: () => current,
    look,
    async refresh() {
      if (clock.monotonic() - lookedAt >= PAUSE_LOOK_MS) await tryLook();
      return current;
    },
    async keepLooking(signal) {
      while (!signal.aborted) {
        await clock.sleep(PAUSE_LOOK_MS, signal).catch(() => undefined);
        if (!signal.aborted) await tryLook();
      }
    },
  };
}

function report(telemetry: Telemetry, queue: string, pause: Pause | null): void {
  if (pause === null) {
    telemetry.log("warn", "the pipeline was resumed; receiving continues", { queue });
    return;
  }
  const message = "the pipeline is paused; nothing is received until it is resumed";
  const since = formatInstant(pause.since);
  telemetry.log("warn", message, { queue, since, by: pause.by, reason: pause.reason });
}
