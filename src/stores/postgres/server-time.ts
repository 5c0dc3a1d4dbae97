// Server time: the clock of the database server, one for all processes that share it.
//   V1. It is the server's clock when it last answered, plus the time that passed since by the
//       monotonic clock. The time that the answer travels does not count, so it is never ahead of
//       the server.
//   V2. The server is asked at the start, then at most once every SAMPLE_MS, and again if the
//       computer slept or its clock was set: no message costs a round trip.
//   V3. A server's clock may leap as well, so StoreTime judges it, and the mark is in the database.
//   V4. A virtual clock replaces the server's: tests decide what time it is.
// Instants from elsewhere stay as they are: event times, and when a delivery was received.

import type { Pool } from "pg";
import { type DurationMs, durationMs, type EpochMs, epochMs, seconds } from "../../core/units.ts";
import {
  type LedgerInstant,
  StoreTime,
  type StoreTimeOptions,
  type TimeMark,
} from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import { fencedParameter } from "./time-limits.ts";

const SAMPLE_MS: DurationMs = seconds(60);
/** The clocks of this computer parted by more than this: it slept, or was set. */
const APART_MS = 1_000;

const NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";
const MARK = "SELECT at, waited_ms FROM tidegate_clock WHERE part = $1";
const saveMark = (at: string) => `INSERT INTO tidegate_clock AS c VALUES ($1, ${at}, $3)
  ON CONFLICT (part)
  DO UPDATE SET at = greatest(c.at, excluded.at), waited_ms = excluded.waited_ms`;

/** When the server answered, on the clocks of this computer. */
interface Sample {
  readonly offsetMs: number;
  readonly wall: EpochMs;
  readonly monotonic: DurationMs;
}

export class ServerTime {
  readonly time: StoreTime;
  readonly #pool: Pool;
  readonly #part: "ledger" | "outbox";
  readonly #clock: Clock;
  #sample: Sample | null = null;
  #sampling: Promise<void> | null = null;
  #moving: Promise<void> | null = null;

  constructor(
    pool: Pool,
    part: "ledger" | "outbox",
    { clock, ...options }: StoreTimeOptions & { readonly clock: Clock },
  ) {
    this.#pool = pool;
    this.#part = part;
    this.#clock = clock;
    const monotonic = () => clock.monotonic();
    const now = () => epochMs(clock.monotonic() + (this.#sample?.offsetMs ?? 0)); // V1
    this.time = new StoreTime(clock, options, clock.virtual ? clock : { now, monotonic }); // V4
  }

  /** Continues from the mark in the database. */
  async open(): Promise<void> {
    if (this.#clock.virtual) return; // V4
    await this.#ask();
    this.time.continueFrom(await this.#stored());
  }

  /** The time for a call that only reads. */
  async read(): Promise<LedgerInstant> {
    if (this.#isStale()) {
      this.#sampling ??= this.#ask().finally(() => {
        this.#sampling = null;
      });
      await this.#sampling;
    }
    return this.time.read();
  }

  /** The time for a call that writes; moves the mark on if it is due. */
  async readToWrite(): Promise<LedgerInstant> {
    const at = await this.read();
    if (!this.time.isMarkDue()) return at;
    this.#moving ??= this.#move().finally(() => {
      this.#moving = null;
    });
    await this.#moving;
    return this.time.read();
  }

  #isStale(): boolean {
    if (this.#sample === null) return this.#clock.virtual !== true;
    const elapsedMs = this.#clock.monotonic() - this.#sample.monotonic;
    const partedMs = Math.abs(this.#clock.now() - this.#sample.wall - elapsedMs);
    return elapsedMs >= SAMPLE_MS || partedMs > APART_MS; // V2
  }

  async #ask(): Promise<void> {
    const { rows } = await this.#pool.query({ name: "tidegate-now", text: NOW });
    const monotonic = this.#clock.monotonic(); // After the answer (V1).
    const wall = this.#clock.now();
    this.#sample = { offsetMs: Number(rows[0]?.now) - monotonic, wall, monotonic };
  }

  async #stored(): Promise<TimeMark | null> {
    const { rows } = await this.#pool.query(MARK, [this.#part]);
    const row = rows[0];
    if (row === undefined) return null;
    return { at: epochMs(Number(row.at)), waitedMs: durationMs(Number(row.waited_ms)) };
  }

  async #move(): Promise<void> {
    const { at, waitedMs } = this.time.exchange(await this.#stored());
    const save = saveMark(fencedParameter(this.#pool, "$2"));
    await this.#pool.query(save, [this.#part, at, waitedMs]);
  }
}
