// Flow tracks: the readings of the last hour, per pipeline, and the flow as it is now.
//   T1. A reading is taken every SAMPLE_MS, whether a page is open or not, so that a page that is
//       opened has its hour. While pages look, one is taken every pollMs, for all of them together:
//       the cost does not grow with their number.
//   T2. Rates are over the last RATE_MS.
//   T3. A reading that fails leaves a gap in the charts, and the next one is tried as usual.

import { durationMs } from "../../core/units.ts";
import type { FlowFacts } from "../../operate/pages/flow-facts.ts";
import type { Watch } from "../../operate/pages/open-watch.ts";
import type { Clock, LedgerScope } from "../../operate/sources.ts";
import type { ApiSchema } from "./api-schema.ts";
import { type FlowRates, type FlowReading, ratesBetween } from "./flow-rates.ts";
import { flowView } from "./flow-view.ts";

type Flow = ApiSchema["Flow"];
type FlowHistory = ApiSchema["FlowHistory"];

const SAMPLE_MS = 5_000;
/** T1: an hour. */
const SAMPLES_MAX = 720;
const RATE_MS = 10_000;
const TRACKS_MAX = 16;

interface FlowSample {
  readonly at: number;
  readonly facts: FlowFacts;
  readonly rates: FlowRates;
}

interface Track {
  readonly scope: LedgerScope | null;
  readonly samples: FlowSample[];
  /** Of the last RATE_MS, oldest first. */
  recent: FlowReading[];
  current: { readonly at: number; readonly reading: Promise<Flow> } | null;
}

export interface FlowTracks {
  now(scope: LedgerScope | null): Promise<Flow>;
  history(scope: LedgerScope | null): FlowHistory;
  /** Takes one sample of each pipeline; called every SAMPLE_MS by `start`. */
  sample(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

interface FlowPorts {
  readonly clock: Clock;
  readonly watch: Pick<Watch, "flow" | "pipelines">;
}

export function createFlowTracks(ports: FlowPorts, pollMs: number): FlowTracks {
  return new SampledFlows(ports, pollMs);
}

class SampledFlows implements FlowTracks {
  readonly #ports: FlowPorts;
  readonly #pollMs: number;
  readonly #tracks = new Map<string, Track>();
  readonly #closing = new AbortController();
  #sampling: Promise<void> = Promise.resolve();

  constructor(ports: FlowPorts, pollMs: number) {
    this.#ports = ports;
    this.#pollMs = pollMs;
  }

  now(scope: LedgerScope | null): Promise<Flow> {
    const { clock } = this.#ports;
    const track = this.#trackOf(scope);
    const { current } = track;
    if (current !== null && clock.monotonic() - current.at < this.#pollMs) {
      return current.reading; // T1
    }
    const reading = this.#view(track);
    track.current = { at: clock.monotonic(), reading };
    reading.catch(() => {
      track.current = null;
    });
    return reading;
  }

  history(scope: LedgerScope | null): FlowHistory {
    return historyOf(this.#trackOf(scope).samples);
  }

  async sample(): Promise<void> {
    const pipelines = await this.#ports.watch.pipelines();
    const scopes = pipelines.slice(0, TRACKS_MAX).map(({ name, generation }) => {
      return { pipeline: name, generation };
    });
    const all = scopes.length === 0 ? [null] : scopes;
    for (const scope of all) await this.#sampleOne(scope).catch(() => undefined); // T3
  }

  start(): void {
    this.#sampling = this.#repeat();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sampling;
  }

  #trackOf(scope: LedgerScope | null): Track {
    const id = JSON.stringify(scope === null ? null : [scope.pipeline, scope.generation]);
    const existing = this.#tracks.get(id);
    if (existing !== undefined) return existing;
    if (this.#tracks.size >= TRACKS_MAX) this.#tracks.clear();
    const track = { scope, samples: [], recent: [], current: null };
    this.#tracks.set(id, track);
    return track;
  }

  async #read(track: Track, looked: boolean): Promise<FlowReading> {
    const { clock, watch } = this.#ports;
    const facts = await watch.flow(track.scope, looked);
    const reading = { at: clock.monotonic(), facts };
    const oldest = reading.at - RATE_MS - SAMPLE_MS;
    track.recent = [...track.recent.filter(({ at }) => at >= oldest), reading];
    return reading;
  }

  async #view(track: Track): Promise<Flow> {
    const reading = await this.#read(track, true);
    return flowView(track.scope, reading.facts, ratesOf(track, reading), this.#ports.clock.now());
  }

  async #sampleOne(scope: LedgerScope | null): Promise<void> {
    const track = this.#trackOf(scope);
    const reading = await this.#read(track, false);
    const rates = ratesOf(track, reading);
    track.samples.push({ at: this.#ports.clock.now(), facts: reading.facts, rates });
    if (track.samples.length > SAMPLES_MAX) track.samples.shift();
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.sample().catch(() => undefined); // T3
      await this.#ports.clock.sleep(durationMs(SAMPLE_MS), signal).catch(() => undefined);
    }
  }
}

/** T2 */
function ratesOf(track: Track, reading: FlowReading): FlowRates {
  const before = track.recent.find(({ at }) => at >= reading.at - RATE_MS && at < reading.at);
  return ratesBetween(before ?? track.recent[0], reading);
}

type Series = FlowHistory["series"][number];

const SERIES: readonly (Omit<Series, "values"> & {
  readonly value: (sample: FlowSample) => number | null;
})[] = [
  { name: "received", title: "received", unit: "per second", value: (s) => s.rates.received },
  { name: "applied", title: "applied", unit: "per second", value: (s) => s.rates.applied },
  { name: "retries", title: "retries", unit: "per second", value: (s) => s.rates.retries },
  {
    name: "deadLetters",
    title: "dead letters",
    unit: "count",
    value: ({ facts }) => facts.parked?.count ?? facts.deadLetters?.visible ?? null,
  },
  {
    name: "backlog",
    title: "backlog",
    unit: "count",
    value: ({ facts: { queue } }) => (queue === null ? null : queue.visible + queue.delayed),
  },
  {
    name: "inFlight",
    title: "in flight",
    unit: "count",
    value: ({ facts }) => facts.queue?.inFlight ?? null,
  },
  {
    name: "oldestAgeMs",
    title: "age of the oldest message",
    unit: "ms",
    value: ({ facts }) => facts.queue?.oldestAgeMs ?? null,
  },
  {
    name: "watermarkLagMs",
    title: "watermark behind now",
    unit: "ms",
    value: ({ at, facts }) => (facts.watermark === null ? null : at - facts.watermark),
  },
];

function historyOf(samples: readonly FlowSample[]): FlowHistory {
  return {
    stepMs: SAMPLE_MS,
    times: samples.map(({ at }) => at),
    series: SERIES.map(({ value, ...series }) => ({ ...series, values: samples.map(value) })),
  };
}
