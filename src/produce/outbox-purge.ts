// Outbox purge: deletes expired rows of the outbox while a producer or a relay works.
//   U1. It never delays a send: batches are small (P1 of purge-rows.ts), a round is bounded, and no
//       sender waits for it. Expired rows are ignored whether or not they are deleted.
//   U2. No timer runs between rounds. A round that is due starts with the next send, so that an
//       idle producer does not keep its process alive.
//   U3. Rounds are jittered, so that the producers of an outbox do not purge at the same time.
//   U4. A failed round is logged; the next round tries again.
//   U5. A store that deletes expired rows by itself is left alone.

import { reasonOf } from "../core/errors.ts";
import { addMs, type DurationMs, durationMs, type EpochMs, hours, minutes } from "../core/units.ts";
import { purgeRows } from "../ledger/rows/purge-rows.ts";
import type { Clock } from "../ports/clock.ts";
import type { Outbox } from "../ports/outbox.ts";
import type { Random } from "../ports/random.ts";
import type { Telemetry } from "../ports/telemetry.ts";

export interface OutboxPurgePorts {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry?: Telemetry;
}

/** Early, so that producers that live shorter than a round purge as well. */
const FIRST_ROUND_MS = minutes(1);
const ROUND_MS = hours(1);
const BATCH_ROWS = 500;
const BATCHES_MAX = 400;
const PAUSE_MS = durationMs(50);

export class OutboxPurge {
  readonly #ports: OutboxPurgePorts;
  readonly #random: Random;
  readonly #closing = new AbortController();
  #dueAt: EpochMs;
  #round: Promise<void> | null = null;

  constructor(ports: OutboxPurgePorts) {
    this.#ports = ports;
    this.#random = ports.random.fork("outbox-purge");
    this.#dueAt = this.#after(FIRST_ROUND_MS);
  }

  /** Starts a round in the background if one is due (U2). */
  startIfDue(): void {
    const { outbox, clock } = this.#ports;
    if (outbox.expiresRows === true || this.#round !== null) return; // U5
    if (this.#closing.signal.aborted || clock.now() < this.#dueAt) return;
    this.#round = this.#purge().finally(() => {
      this.#round = null;
      this.#dueAt = this.#after(ROUND_MS);
    });
  }

  /** Resolves when the batch in progress has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#round;
  }

  async #purge(): Promise<void> {
    const { outbox, clock, telemetry } = this.#ports;
    const rounds = purgeRows({ clock }, outbox, {
      batchRows: BATCH_ROWS,
      pauseMs: PAUSE_MS,
      batchesMax: BATCHES_MAX,
      emptyBatches: 1,
      signal: this.#closing.signal,
    });
    try {
      for await (const _ of rounds);
    } catch (error) {
      const failure = "outbox purge failed, retrying in the next round";
      telemetry?.log("warn", `${failure}: ${reasonOf(error)}`); // U4
    }
  }

  /** From half of `span` to one and a half of it (U3). */
  #after(span: DurationMs): EpochMs {
    const ms = durationMs(Math.round(span * (0.5 + this.#random.fraction())));
    return addMs(this.#ports.clock.now(), ms);
  }
}
