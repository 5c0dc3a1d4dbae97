// Network: how a call of a process reaches a service, and how the answer comes back, if it does.
//   N1. Without a fault, a call is carried out at once and answered a little later.
//   N2. A request that is under way when its sender dies is carried out all the same.
//   N3. An answer that was lost is told as an error, after the time a client would have waited.

import type { CallFault, FaultPoint } from "../faults/call-faults.ts";
import { fractionOf, mixWords } from "../faults/named-random.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Scheduler } from "../scheduler.ts";

export interface NetworkTiming {
  /** The most that an answer takes without a fault. */
  readonly latencyMsMax: number;
  /** The most that a slow request or answer takes. */
  readonly slowMsMax: number;
}

export interface Service {
  readonly name: string;
  /** Every call before this instant is refused. */
  downUntil: number;
}

/** What a port's wrapper says of one call. */
export interface NetworkCall<T> {
  /** Carries it out. */
  readonly run: () => Promise<T>;
  /** What the caller is told when there is no answer, or a refusal. */
  readonly unavailable: (reason: string) => Error;
  /** Carries out a part of it, where that can happen; else a part is all. */
  readonly runPart?: (word: number) => Promise<T>;
  /** Carries it out in a way only this call knows. */
  readonly runTwice?: (word: number) => Promise<T>;
}

const CLIENT_TIMEOUT_MS = 5_000;
/** The wait is longer the rarer: most are short, a few are all that is allowed. */
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
    site: FaultPoint,
    call: NetworkCall<T>,
  ): Promise<T> {
    if (!process.alive) return new Promise(() => {});
    const fault = site.draw();
    const { word } = site;
    const link = { process, label: site.label, latencyMs: this.#latencyMs(word) };
    if (fault !== null) return this.#faulty(link, service, fault, call);
    if (service.downUntil > this.#scheduler.now) return this.#refuse(link, service, call);
    return this.#carry(link, call.run);
  }

  #faulty<T>(link: Link, service: Service, fault: CallFault, call: NetworkCall<T>): Promise<T> {
    const { process } = link;
    const slowMs = this.#slowMs(fault.word);
    switch (fault.kind) {
      case "refused":
        return this.#refuse(link, service, call);
      case "crash-before":
        process.crash(fault.word); // F1
        return new Promise(() => {});
      case "crash-after":
        call.run().catch(() => undefined);
        process.crash(fault.word); // F1
        return new Promise(() => {});
      case "answer-lost": {
        const lost = call.run().then(
          () => Promise.reject(call.unavailable("the answer was lost")),
          (error: unknown) => Promise.reject(error),
        );
        return this.#carry({ ...link, latencyMs: CLIENT_TIMEOUT_MS }, () => lost); // N3
      }
      case "slow-request":
        return this.#later(link, slowMs, call);
      case "slow-answer":
        return this.#carry({ ...link, latencyMs: slowMs }, call.run);
      case "partial":
        return this.#carry(link, () => call.runPart?.(fault.word) ?? call.run());
      case "duplicate":
        return this.#carry(link, () => call.runTwice?.(fault.word) ?? call.run());
    }
  }

  #refuse<T>(link: Link, service: Service, call: NetworkCall<T>): Promise<T> {
    const error = call.unavailable(`${service.name} does not answer`);
    return this.#carry(link, () => Promise.reject(error));
  }

  /** N2: the request goes on its way whatever becomes of its sender. */
  #later<T>(link: Link, spanMs: number, call: NetworkCall<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#scheduler.after(spanMs, link.label, () => {
        this.#carry(link, call.run).then(resolve, reject);
      });
    });
  }

  #carry<T>(link: Link, run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void) => {
        this.#scheduler.after(link.latencyMs, link.label, () => link.process.hear(tell));
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
