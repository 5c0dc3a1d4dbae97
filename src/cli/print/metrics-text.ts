// Metrics text: reads the page of /metrics back, for `tidegate top`.
//   M1. A line that is not a sample is skipped: the page may come from another version.

/** One sample of the page. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of a page by name. */
export type MetricSamples = ReadonlyMap<string, readonly MetricSample[]>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \S+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n" };

export function readMetricsText(text: string): MetricSamples {
  const samples = new Map<string, MetricSample[]>();
  for (const line of text.split("\n")) {
    const [, name, list = "", shown = ""] = SAMPLE.exec(line) ?? [];
    const value = shown === "+Inf" ? Number.POSITIVE_INFINITY : Number(shown);
    if (name === undefined || Number.isNaN(value)) continue; // M1
    const labels: Record<string, string> = {};
    for (const [, label = "", quoted = ""] of list.matchAll(LABEL)) {
      labels[label] = quoted.replace(/\\(.)/g, (_, each: string) => ESCAPES[each] ?? each);
    }
    const existing = samples.get(name);
    if (existing === undefined) samples.set(name, [{ labels, value }]);
    else existing.push({ labels, value });
  }
  return samples;
}
