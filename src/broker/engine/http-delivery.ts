// Courier: carries messages to http endpoints. What is due, how often it is tried and what becomes
// of it is the model's to say; the courier only posts.
//   C1. At most SNS_HTTP_REQUESTS_MAX requests are under way.
//   C2. A taken message is settled whatever happens to the request; if the courier or the process
//       dies in between, the model lets it be taken again.
//   C3. 2xx is delivered. 4xx but 429 is the endpoint's last word; everything else, no answer
//       included, may pass and is tried again.

import { SNS_HTTP_REQUESTS_MAX, SNS_HTTP_TIMEOUT_MS } from "../../core/limits.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HttpClient } from "../../ports/http-client.ts";
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
  /** Null where notifications are not signed. */
  readonly seal: NotificationSigner | null;
  readonly submit: Broker["submit"];
}

export class HttpDelivery {
  readonly #ports: HttpDeliveryPorts;
  readonly #alarm: Alarm;
  readonly #stop = new AbortController();
  readonly #idleWaiters: (() => void)[] = [];
  #underWay = 0;
  #taking = false;
  #moreDue = false;

  constructor(ports: HttpDeliveryPorts) {
    this.#ports = ports;
    this.#alarm = new Alarm(ports.clock, () => this.#take());
  }

  /** To be told after every commit when the next message is due, or that none is. */
  expect(dueAt: EpochMs | null, now: EpochMs): void {
    if (this.#stop.signal.aborted || dueAt === null) return;
    if (dueAt > now) this.#alarm.setFor(dueAt, now);
    else this.#take();
  }

  /** Resolves when no request is under way. */
  idle(): Promise<void> {
    if (!this.#busy) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Abandons what is under way; it is taken up again by the next broker on the same store. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#alarm.clear();
    await this.idle();
  }

  get #busy(): boolean {
    return this.#taking || this.#underWay > 0;
  }

  #take(): void {
    if (this.#taking) {
      this.#moreDue = true;
      return;
    }
    if (this.#stop.signal.aborted || this.#underWay >= SNS_HTTP_REQUESTS_MAX) return; // C1
    this.#taking = true;
    this.#moreDue = false;
    void this.#takeDue().finally(() => {
      this.#taking = false;
      if (this.#moreDue) this.#take();
      this.#settleIdle();
    });
  }

  async #takeDue(): Promise<void> {
    try {
      const max = SNS_HTTP_REQUESTS_MAX - this.#underWay;
      const taken = await this.#ports.submit("takePendingHttp", { max });
      if (!taken.ok) return;
      for (const message of taken.value.messages) {
        this.#underWay += 1;
        void this.#carry(message).finally(() => {
          this.#underWay -= 1;
          this.#take(); // A place is free again.
          this.#settleIdle();
        });
      }
    } catch {
      // The store failed or the broker is closing; the next commit that works says what is due.
    }
  }

  async #carry(message: PendingHttpMessage): Promise<void> {
    const result = await this.#post(message);
    if (result === null) return;
    const { subscription, seq, attempt } = message;
    try {
      await this.#ports.submit("finishPendingHttp", { subscription, seq, attempt, result });
    } catch {
      // Not settled: the model lets it be taken again (C2).
    }
  }

  /** Null when the courier was stopped meanwhile: nothing is known of the request. */
  async #post(message: PendingHttpMessage): Promise<HttpDeliveryResult | null> {
    const { http, seal } = this.#ports;
    const { signal } = this.#stop;
    try {
      const [sealed] = seal === null ? [message] : await seal.seal([message]);
      const { endpoint: url, headers, body } = sealed ?? message;
      const timeoutMs = SNS_HTTP_TIMEOUT_MS;
      return judge(await http.post({ url, headers, body, timeoutMs }, signal));
    } catch {
      return signal.aborted ? null : "failed";
    }
  }

  #settleIdle(): void {
    if (this.#busy) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

/** C3. */
function judge(status: number): HttpDeliveryResult {
  if (status >= 200 && status < 300) return "delivered";
  return status >= 400 && status < 500 && status !== 429 ? "rejected" : "failed";
}
