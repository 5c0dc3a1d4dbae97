// Healing: a store over one SQLite file that is opened again by itself after a failure.
//   H1. A store whose file is in doubt (K2 of checkpoints.ts) answers nothing more. Its connection
//       is closed, so that the file can be renewed, by this process or by another one.
//   H2. The next call opens the file again, which renews it first (renew-log.ts). If that fails,
//       the call fails with the reason, and so do those that follow, until a later one succeeds.
//   H3. After an attempt that failed, the next one waits for a while: it may have to copy the file.
//   H4. A store that only reads lets go of the file after each call while a process waits for it.
//   H5. Without calls, the store looks for a waiting process regularly: an idle one does not keep
//       others from renewing the file.

const RETRY_MS = 1_000;
/** Time between two looks without a call (H5). */
const IDLE_LOOK_MS = 2_000;

export interface OpenedStore<T> {
  readonly store: T;
  /** Why the store has to be opened again, or null. */
  readonly failure: () => unknown;
}

export interface HealingOptions<T> {
  readonly open: (isFirst: boolean) => OpenedStore<T>;
  /** The failure as callers get it. */
  readonly faultOf: (error: unknown) => unknown;
  /** Whether the store only reads (H4). */
  readonly isReader: boolean;
  /** Methods that return no promise. */
  readonly direct: readonly (keyof T)[];
  /** Methods that need no open file. */
  readonly fileless: readonly (keyof T)[];
}

type Method = (...args: readonly unknown[]) => unknown;

/** The store that `open` returns, behind the same methods. Throws if the first opening fails. */
export function createHealing<T extends { close(): Promise<void> }>(options: HealingOptions<T>): T {
  const file = new HealingFile(options);
  const wrap = (methods: object, pick: (store: T) => object): Record<string, unknown> => {
    const wrapped: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(methods)) {
      const call =
        (...args: readonly unknown[]) =>
        (store: T) =>
          ((pick(store) as Record<string, unknown>)[name] as Method)(...args);
      if (typeof value !== "function") wrapped[name] = value;
      else if (options.fileless.includes(name as keyof T)) {
        wrapped[name] = (...args: readonly unknown[]) => call(...args)(file.latest);
      } else if (options.direct.includes(name as keyof T)) {
        wrapped[name] = (...args: readonly unknown[]) => file.run(call(...args));
      } else wrapped[name] = async (...args: readonly unknown[]) => file.run(call(...args));
    }
    return wrapped;
  };
  const whole = wrap(file.latest, (store) => store);
  for (const [name, value] of Object.entries(file.latest)) {
    if (typeof value !== "object" || value === null) continue;
    whole[name] = wrap(value, (store) => store[name as keyof T] as object);
  }
  whole.close = () => file.close();
  return whole as unknown as T;
}

class HealingFile<T extends { close(): Promise<void> }> {
  readonly #options: HealingOptions<T>;
  #opened: OpenedStore<T> | null;
  /** The store that was opened last, which may be closed. */
  latest: T;
  #error: unknown = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  readonly #idleLook: NodeJS.Timeout;

  constructor(options: HealingOptions<T>) {
    this.#options = options;
    this.#opened = options.open(true);
    this.latest = this.#opened.store;
    this.#idleLook = setInterval(this.#release, IDLE_LOOK_MS).unref(); // H5
  }

  run(call: (store: T) => unknown): unknown {
    const store = this.#current();
    try {
      const result = call(store);
      if (result instanceof Promise)
        void result.then(this.#letGo, this.#release); // H1
      else queueMicrotask(this.#letGo);
      return result;
    } catch (error) {
      queueMicrotask(this.#release); // H1
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#idleLook);
    await this.#opened?.store.close();
  }

  #current(): T {
    if (this.#isClosed) return this.latest; // It says that it is closed.
    this.#release();
    this.#opened ??= this.#openAgain();
    return this.latest;
  }

  /** H4 */
  readonly #letGo = (): void => {
    if (this.#options.isReader) this.#release();
  };

  /** Closes a store that has failed (H1). */
  readonly #release = (): void => {
    if (this.#isClosed || this.#opened === null || this.#opened.failure() === null) return;
    this.#error = this.#opened.failure();
    this.#opened = null;
    this.latest.close().catch(() => undefined); // The failure that led here is reported.
  };

  #openAgain(): OpenedStore<T> {
    const sinceMs = performance.now() - this.#failedAt;
    if (sinceMs < RETRY_MS) throw this.#options.faultOf(this.#error); // H3
    try {
      const opened = this.#options.open(false);
      this.latest = opened.store;
      this.#failedAt = Number.NEGATIVE_INFINITY;
      return opened;
    } catch (error) {
      this.#error = error;
      this.#failedAt = performance.now();
      throw this.#options.faultOf(error); // H2
    }
  }
}
