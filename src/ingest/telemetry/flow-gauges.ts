// Flow gauges: how far behind a consumer is, how many duplicates it gets, and what it costs.
//   F1. Depth and age come from the queue itself. Each question is a request that costs money, so
//       the consumer asks once a minute; a queue that does not answer keeps its last values.
//   F2. SQS does not report the age of its oldest message. Where the queue does not, the age is
//       that of the oldest message in the newest receive, and 0 when nothing is visible.
//   F3. The lag is that of the last committed record. It is 0 when the queue is drained: an idle
//       pipeline is not behind, however old its last record is.
//   F4. Costs are estimates at AWS's list prices for requests; docs/reference/metrics.md lists what
//       they leave out.

import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { QueueFacts } from "../../ports/queue-receiver.ts";
import type { Labels, Telemetry } from "../../ports/telemetry.ts";
import { CONSUMER_METRICS as METRICS } from "./metrics.ts";
import type { Counts } from "./outcome-counts.ts";

/** USD for a million requests, us-east-1, November 2026 (F4). */
export const REQUEST_PRICES_USD = { standard: 0.4, fifo: 0.5, s3: 0.4 } as const;

/** Samples of the duplicate ratio: five minutes, one per report. */
const SAMPLES_MAX = 60;

interface Sample {
  readonly received: number;
  readonly duplicates: number;
}

export interface FlowOptions {
  readonly queue: string;
  readonly fifo: boolean;
  readonly stream: string;
}

export class FlowGauges {
  readonly telemetry: Telemetry;
  readonly #clock: Clock;
  readonly #options: FlowOptions;
  readonly #labels: Labels;
  readonly #samples: Sample[] = [];
  #sqs = 0;
  #s3 = 0;
  #lagSeconds = 0;
  #oldestReceived: EpochMs | null = null;

  constructor({ clock, telemetry }: { clock: Clock; telemetry: Telemetry }, options: FlowOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#labels = { queue: options.queue };
    this.telemetry = this.#counted(telemetry);
  }

  /** The send times of one receive (F2). */
  received(sentAt: readonly EpochMs[]): void {
    this.#oldestReceived = sentAt.length === 0 ? null : (Math.min(...sentAt) as EpochMs);
  }

  /** A record was committed (F3). */
  committed(eventTime: EpochMs): void {
    this.#lagSeconds = Math.max(0, this.#clock.now() - eventTime) / 1_000;
  }

  /** Reports what the process itself knows. */
  report({ received, duplicates, committed }: Readonly<Counts>, drained: boolean): void {
    const { stream, fifo } = this.#options;
    if (drained) this.#lagSeconds = 0; // F3
    this.telemetry.gauge(METRICS.eventTimeLag.name, this.#lagSeconds, { stream });
    this.#samples.push({ received, duplicates });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    const [first] = this.#samples;
    const deliveries = received - (first?.received ?? 0);
    const repeated = duplicates - (first?.duplicates ?? 0);
    const ratio = deliveries <= 0 ? 0 : Math.min(1, repeated / deliveries);
    this.telemetry.gauge(METRICS.duplicateRatio.name, ratio, this.#labels);
    if (committed === 0) return;
    const requests = ((this.#sqs + this.#s3) / committed) * 1_000_000;
    this.telemetry.gauge(METRICS.requestsPerMillion.name, requests, this.#labels);
    const { standard, fifo: fifoPrice, s3 } = REQUEST_PRICES_USD;
    const usd = (this.#sqs * (fifo ? fifoPrice : standard) + this.#s3 * s3) / committed; // F4
    this.telemetry.gauge(METRICS.costPerMillion.name, usd, this.#labels);
  }

  /** Reports what the queue said (F1, F2). */
  reportQueue({ visible, hidden, delayed, oldestSentAt }: QueueFacts): void {
    const states = { visible, in_flight: hidden, delayed };
    for (const [state, count] of Object.entries(states)) {
      this.telemetry.gauge(METRICS.queueMessages.name, count, { ...this.#labels, state });
    }
    const oldest =
      oldestSentAt !== undefined ? oldestSentAt : visible === 0 ? null : this.#oldestReceived;
    const age = oldest === null ? 0 : Math.max(0, this.#clock.now() - oldest) / 1_000;
    this.telemetry.gauge(METRICS.queueOldest.name, age, this.#labels);
  }

  /** The same telemetry, with requests counted for the cost. */
  #counted(telemetry: Telemetry): Telemetry {
    return {
      ...telemetry,
      count: (name, by = 1, labels) => {
        if (name === METRICS.sqsRequests.name) this.#sqs += by;
        else if (name === METRICS.s3Requests.name) this.#s3 += by;
        telemetry.count(name, by, labels);
      },
    };
  }
}
