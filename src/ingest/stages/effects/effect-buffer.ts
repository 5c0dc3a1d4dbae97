// Effect buffer: the effects that a handler has requested. A few stay in memory; many are staged in
// the sink's database, chunk by chunk, while the handler still runs.
//   B1. Memory is bounded: a chunk is staged as soon as it is full, and reads wait for it. If a
//       handler requests effects faster without waiting, it fails at a named limit. Chunks are
//       small, so that most rows are garbage before V8 moves them to its old generation.
//   B2. One chunk is staged at a time, in the order of the effects.
//   B3. A chunk that fails ends the attempt: the next effect, the next wait or the end throws it.
//   B4. A sink that cannot stage has a limit of effects per record.
//   B5. Statements stay in memory and run after all rows. They have a limit of their own.

import type { Effect, StagedRows } from "../../../ports/sink.ts";
import { PermanentError } from "../../spec/handler-errors.ts";
import { createEffectsDigest, type EffectsDigest } from "./effects-digest.ts";

/** Effects per record for a sink that cannot stage. */
export const EFFECTS_MAX = 100_000;
/** Statements of `sql()` per record. */
export const STATEMENTS_MAX = 1_000;
/** Effects in memory before the first chunk is staged. */
export const MEMORY_EFFECTS = 10_000;
/** Effects of a chunk. Each is a transaction, so smaller ones cost disk syncs. */
export const CHUNK_EFFECTS = 4_000;
/** Characters in memory before they are staged. */
const CHUNK_CHARS = 4_194_304;
/** About the memory of a value in addition to its characters. */
const VALUE_CHARS = 16;
/** How much may wait for a chunk in progress, as a multiple of what stays in memory (B1). */
const WAITING_MAX = 8;

/** How many effects stay in memory, and how many a chunk has. */
export interface EffectLimits {
  readonly memory: number;
  readonly chunk: number;
}

const EFFECT_LIMITS: EffectLimits = { memory: MEMORY_EFFECTS, chunk: CHUNK_EFFECTS };

export interface CollectedEffects {
  /** Only statements, if the rows are staged. */
  readonly effects: readonly Effect[];
  readonly staged: StagedRows | null;
  /** The content hash of staged effects; null if they are in memory. */
  readonly digest: string | null;
}

export class EffectBuffer {
  readonly #openStaged: (() => StagedRows) | null;
  readonly #limits: EffectLimits;
  #waiting: Effect[] = [];
  /** Statements run within the commit, so they are never staged (B5). */
  readonly #statements: Effect[] = [];
  #chars = 0;
  #staged: StagedRows | null = null;
  /** Of the staged effects, chunk by chunk (H1 of effects-digest.ts). */
  #digest: EffectsDigest | null = null;
  #staging: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(openStaged: (() => StagedRows) | null, limits: EffectLimits = EFFECT_LIMITS) {
    this.#openStaged = openStaged;
    this.#limits = limits;
  }

  add(effect: Effect): void {
    this.#throwFailure();
    if (effect.kind === "sql") {
      this.#statements.push(effect);
      checkStatements(this.#statements.length); // B5
      return;
    }
    this.#waiting.push(effect);
    if (this.#openStaged === null) {
      checkCount(this.#waiting.length); // B4
      return;
    }
    this.#chars += charsOf(effect);
    if (!this.#isFull()) return;
    this.#staging ??= this.#stageWaiting(this.#openStaged);
    checkSpeed(this.#waiting.length / this.#limits.memory + this.#chars / CHUNK_CHARS); // B1
  }

  /** Null if the handler may continue immediately, else when it may. */
  ready(): Promise<void> | null {
    if (this.#staging === null || !this.#isFull()) return null;
    return this.#staging.then(() => this.#throwFailure());
  }

  /** Resolves when all effects so far are staged, if they are to be. */
  async flush(): Promise<void> {
    await this.#staging;
    this.#throwFailure();
    if (this.#staged === null || this.#waiting.length === 0 || this.#openStaged === null) return;
    await this.#stageWaiting(this.#openStaged);
    this.#throwFailure();
  }

  /** Call it when the handler has ended. */
  async finish(): Promise<CollectedEffects> {
    await this.flush();
    const statements = this.#statements;
    if (this.#staged === null) {
      return { effects: [...this.#waiting, ...statements], staged: null, digest: null };
    }
    try {
      await this.#staged.seal();
    } catch (error) {
      this.#failure = { error }; // B3
      throw error;
    }
    if (statements.length > 0) this.#digest?.add(statements);
    return { effects: statements, staged: this.#staged, digest: this.#digest?.hex() ?? null };
  }

  /** Drops everything, also what was staged. Never rejects. */
  async discard(): Promise<void> {
    await this.#staging;
    this.#waiting = [];
    // The sweep removes what cannot be removed now (S3 of sinks/table/stage.ts).
    await this.#staged?.discard().catch(() => undefined);
  }

  /** Stages what waits, then what has filled up since (B2). */
  async #stageWaiting(open: () => StagedRows): Promise<void> {
    try {
      this.#staged ??= open();
      do {
        const chunk = this.#nextChunk();
        this.#digest ??= createEffectsDigest();
        this.#digest.add(chunk);
        await this.#staged.add(chunk);
      } while (this.#isFull());
    } catch (error) {
      this.#failure = { error }; // B3
    } finally {
      this.#staging = null;
    }
  }

  #nextChunk(): Effect[] {
    const { chunk: size } = this.#limits;
    const chunk = this.#waiting.slice(0, size);
    this.#waiting = this.#waiting.slice(size);
    if (this.#waiting.length === 0) this.#chars = 0;
    return chunk;
  }

  #isFull(): boolean {
    const { memory, chunk } = this.#limits;
    const effectsMax = this.#staged === null ? memory : chunk;
    return this.#waiting.length >= effectsMax || this.#chars >= CHUNK_CHARS;
  }

  /** Whether the error is that of a chunk which could not be staged (B3). */
  isFailure(error: unknown): boolean {
    return this.#failure !== null && this.#failure.error === error;
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }
}

/** About the memory that an effect takes; nested values count little. */
function charsOf(effect: Effect): number {
  if (effect.kind === "custom" || effect.kind === "sql") return 0;
  let chars = 0;
  const row: unknown = effect.kind === "upsert" ? effect.row : effect.key;
  if (typeof row !== "object" || row === null) return chars;
  for (const value of Object.values(row)) {
    chars += VALUE_CHARS;
    if (typeof value === "string") chars += value.length;
    else if (typeof value === "object" && value !== null) chars += sizeOf(value);
  }
  return chars;
}

function sizeOf(value: object): number {
  if (value instanceof Uint8Array) return value.byteLength;
  try {
    return JSON.stringify(value).length;
  } catch {
    return 0; // The sink rejects it with its position.
  }
}

function checkCount(effects: number): void {
  if (effects <= EFFECTS_MAX) return;
  throw new PermanentError(
    `a record has more than ${EFFECTS_MAX} effects, which is the maximum; split the object`,
    { class: "too-many-effects" },
  );
}

function checkStatements(statements: number): void {
  if (statements <= STATEMENTS_MAX) return;
  const message = `a record has more than ${STATEMENTS_MAX} statements, which is the maximum`;
  throw new PermanentError(message, { class: "too-many-effects" });
}

function checkSpeed(waiting: number): void {
  if (waiting <= WAITING_MAX) return;
  const message =
    "the handler requests rows faster than they can be staged; call `await flush()` in the loop";
  throw new PermanentError(message, { class: "too-many-effects" });
}
