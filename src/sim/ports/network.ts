// Network: how a process's call reaches a service, and whether the response comes back.
//   N1. Without a fault, a call is carried out immediately and answered a little later.
//   N2. A request in flight is carried out even if its sender crashes.
//   N3. A lost response becomes an error after the client's timeout.

import type { CallFault, FaultPoint } from "../faults/call-faults.ts";
import { fractionOf, mixWords } from "../faults/named-random.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Scheduler } from "../scheduler.ts";

export interface NetworkTiming {
  /** Maximum latency of a response without a fault. */
  readonly latencyMsMax: number;
  /** Maximum latency of a slow request or response. */
  readonly slowMsMax: number;
}

export interface Service {
  readonly name: string;
  /** Every call before this instant is rejected. */
  downUntil: number;
}

/** One call of a port's wrapper. */
export interface NetworkCall<T> {
  readonly run: () => Promise<T>;
  /** The error that the caller gets if the call is rejected or has no response. */
  readonly unavailable: (reason: string) => Error;
  /** Runs part of a batch. Default: `run`. */
  readonly runPart?: (word: number) => Promise<T>;
  /** Runs the call with a duplicate. Default: `run`. */
  readonly runTwice?: (word: number) => Promise<T>;
}

const CLIENT_TIMEOUT_MS = 5_000;
/** Slow calls are spread on a logarithmic scale: most are short, a few take the maximum. */
const SLOW_MS_MIN = 50;

export class Network {
  readonly #scheduler: Scheduler;
  readonly #timing: NetworkTiming;

  constructor(scheduler: Scheduler, timing: NetworkTiming) {
    this.#scheduler = scheduler;
    this.#timing = timing;
  }

  call<T>(
    process: SimProcess,
    service: Service,
    point: FaultPoint,
    call: NetworkCall<T>,
  ): Promise<T> {
    if (!process.alive) return new Promise(() => {});
    const fault = point.draw();
    const { word } = point;
    const link = { process, label: point.label, latencyMs: this.#latencyMs(word) };
    if (fault !== null) return this.#faulty(link, fault, call);
    if (service.downUntil > this.#scheduler.now) return this.#refuse(link, call);
    return this.#respond(link, call.run);
  }

  #faulty<T>(link: Link, fault: CallFault, call: NetworkCall<T>): Promise<T> {
    const { process } = link;
    const slowMs = this.#slowMs(fault.word);
    switch (fault.kind) {
      case "refused":
        return this.#refuse(link, call);
      case "crash-before":
        process.crash(fault.word); // F1
        return new Promise(() => {});
      case "crash-after":
        call.run().catch(() => undefined);
        process.crash(fault.word); // F1
        return new Promise(() => {});
      case "answer-lost": {
        const lost = call.run().then(
          () => Promise.reject(call.unavailable("response lost")),
          (error: unknown) => Promise.reject(error),
        );
        return this.#respond({ ...link, latencyMs: CLIENT_TIMEOUT_MS }, () => lost); // N3
      }
      case "slow-request":
        return this.#later(link, slowMs, call);
      case "slow-answer":
        return this.#respond({ ...link, latencyMs: slowMs }, call.run);
      case "partial":
        return this.#respond(link, () => call.runPart?.(fault.word) ?? call.run());
      case "duplicate":
        return this.#respond(link, () => call.runTwice?.(fault.word) ?? call.run());
    }
  }

  #refuse<T>(link: Link, call: NetworkCall<T>): Promise<T> {
    const error = call.unavailable("service unavailable");
    return this.#respond(link, () => Promise.reject(error));
  }

  /** N2: the request arrives even if its sender has crashed since. */
  #later<T>(link: Link, spanMs: number, call: NetworkCall<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#scheduler.after(spanMs, link.label, () => {
        this.#respond(link, call.run).then(resolve, reject);
      });
    });
  }

  #respond<T>(link: Link, run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void) => {
        this.#scheduler.after(link.latencyMs, link.label, () => link.process.dispatch(settle));
      };
      run().then(
        (value) => answer(() => resolve(value)),
        (error: unknown) => answer(() => reject(error)),
      );
    });
  }

  #latencyMs(word: number): number {
    return 1 + (mixWords(word, 2) % this.#timing.latencyMsMax);
  }

  #slowMs(word: number): number {
    const spread = this.#timing.slowMsMax / SLOW_MS_MIN;
    return Math.floor(SLOW_MS_MIN * spread ** fractionOf(mixWords(word, 3)));
  }
}

interface Link {
  readonly process: SimProcess;
  readonly label: number;
  readonly latencyMs: number;
}
