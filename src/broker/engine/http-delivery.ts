// HttpDelivery: posts messages to HTTP endpoints. The model decides which message is due, how often
// it is tried and what happens to it; this class only posts.
//   C1. At most SNS_HTTP_REQUESTS_MAX requests are in flight.
//   C2. Every message that was taken is finished, whatever happens to its request. If the process
//       crashes in between, the model lets the message be taken again.
//   C3. 2xx means delivered. 4xx except 429 is final; everything else, a missing response included,
//       is retried.

import { assert } from "../../core/assert.ts";
import { SNS_HTTP_REQUESTS_MAX, SNS_HTTP_TIMEOUT_MS } from "../../core/limits.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HttpClient } from "../../ports/http/http-client.ts";
import type {
  HttpDeliveryResult,
  PendingHttpMessage,
} from "../model/sns/topic-operations-contract.ts";
import { Alarm } from "./alarm.ts";
import type { Broker } from "./broker.ts";
import type { NotificationSigner } from "./notification-signer.ts";

export interface HttpDeliveryPorts {
  readonly clock: Clock;
  readonly http: HttpClient;
  /** Null if notifications are not signed. */
  readonly signer: NotificationSigner | null;
  readonly submit: Broker["submit"];
}

export class HttpDelivery {
  readonly #ports: HttpDeliveryPorts;
  readonly #alarm: Alarm;
  readonly #stop = new AbortController();
  readonly #idleWaiters: (() => void)[] = [];
  #inFlight = 0;
  #taking = false;
  #moreDue = false;

  constructor(ports: HttpDeliveryPorts) {
    this.#ports = ports;
    this.#alarm = new Alarm(ports.clock, () => this.#take());
  }

  /** Called after every commit with the instant at which the next message is due, or null. */
  expect(dueAt: EpochMs | null, now: EpochMs): void {
    if (this.#stop.signal.aborted || dueAt === null) return;
    if (dueAt > now) this.#alarm.setFor(dueAt, now);
    else this.#take();
  }

  /** Resolves when no request is in flight. */
  idle(): Promise<void> {
    if (!this.#busy) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Aborts requests in flight. The next broker on the same store sends them again. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#alarm.clear();
    await this.idle();
  }

  get #busy(): boolean {
    return this.#taking || this.#inFlight > 0;
  }

  #take(): void {
    if (this.#taking) {
      this.#moreDue = true;
      return;
    }
    if (this.#stop.signal.aborted || this.#inFlight >= SNS_HTTP_REQUESTS_MAX) return; // C1
    this.#taking = true;
    this.#moreDue = false;
    void this.#takeDue().finally(() => {
      this.#taking = false;
      if (this.#moreDue) this.#take();
      this.#resolveIdle();
    });
  }

  async #takeDue(): Promise<void> {
    const max = SNS_HTTP_REQUESTS_MAX - this.#inFlight;
    const messages = await this.#takeMessages(max);
    assert(messages.length <= max, "the number of requests in flight is limited (C1)");
    for (const message of messages) {
      this.#inFlight += 1;
      void this.#deliver(message).finally(() => {
        this.#inFlight -= 1;
        this.#take(); // Another request may start.
        this.#resolveIdle();
      });
    }
  }

  async #takeMessages(max: number): Promise<readonly PendingHttpMessage[]> {
    try {
      const due = await this.#ports.submit("takePendingHttp", { max });
      return due.ok ? due.value.messages : [];
    } catch {
      // The store failed or the broker is closing. The next successful commit calls expect() again.
      return [];
    }
  }

  async #deliver(message: PendingHttpMessage): Promise<void> {
    const result = await this.#post(message);
    if (result === null) return;
    const { subscription, seq, attempt } = message;
    try {
      await this.#ports.submit("finishPendingHttp", { subscription, seq, attempt, result });
    } catch {
      // Not finished: the model lets it be taken again (C2).
    }
  }

  /** Null if delivery was stopped in the meantime: the outcome of the request is unknown. */
  async #post(message: PendingHttpMessage): Promise<HttpDeliveryResult | null> {
    const { http, signer } = this.#ports;
    const { signal } = this.#stop;
    try {
      const [signed] = signer === null ? [message] : await signer.sign([message]);
      const { endpoint: url, headers, body } = signed ?? message;
      const timeoutMs = SNS_HTTP_TIMEOUT_MS;
      return resultOf(await http.post({ url, headers, body, timeoutMs }, signal));
    } catch {
      return signal.aborted ? null : "failed";
    }
  }

  #resolveIdle(): void {
    if (this.#busy) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** C3. */
function resultOf(status: number): HttpDeliveryResult {
  if (status >= 200 && status < 300) return "delivered";
  return status >= 400 && status < 500 && status !== 429 ? "rejected" : "failed";
}
