// OTLP settings: which signals the standard OTEL_* variables ask to export.
//   V1. Nothing is exported unless a variable asks for it: an endpoint, or an exporter by name. The
//       specification's default, a collector on this host, would surprise users without one.
//   V2. A value that cannot be followed is one sentence, and never ends the process. The exporters
//       read all other variables themselves: headers, timeout, compression, sampler, batches.

export interface OtlpSettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  /** Between two exports of metrics. */
  readonly metricsEveryMs: number;
  /** Values that are not followed, each as a sentence (V2). */
  readonly problems: readonly string[];
}

export type OtelVariables = Readonly<Record<string, string | undefined>>;

const METRICS_EVERY_MS = 60_000;
const METRICS_EVERY_MS_MIN = 100;

export function readOtlpSettings(env: OtelVariables): OtlpSettings {
  const problems: string[] = [];
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") {
    return { traces: false, metrics: false, metricsEveryMs: METRICS_EVERY_MS, problems };
  }
  const traces = isWanted(env, "TRACES", problems);
  const metrics = isWanted(env, "METRICS", problems);
  if (traces) checkProtocol(env, "TRACES", problems);
  if (metrics) checkProtocol(env, "METRICS", problems);
  return { traces, metrics, metricsEveryMs: intervalOf(env, problems), problems };
}

/** V1 */
function isWanted(env: OtelVariables, signal: "TRACES" | "METRICS", problems: string[]): boolean {
  const variable = `OTEL_${signal}_EXPORTER`;
  const names = (env[variable] ?? "").split(",").map((name) => name.trim());
  const chosen = names.filter((name) => name !== "");
  if (chosen.includes("otlp")) return true;
  if (chosen.length > 0) {
    const others = chosen.filter((name) => name !== "none");
    if (others.length > 0) {
      problems.push(`${variable}=${others.join(",")} is not supported; use otlp or none`);
    }
    return false;
  }
  const endpoint = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return (endpoint ?? "") !== "";
}

function checkProtocol(env: OtelVariables, signal: "TRACES" | "METRICS", problems: string[]): void {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const variable = (env[own] ?? "") === "" ? "OTEL_EXPORTER_OTLP_PROTOCOL" : own;
  const protocol = env[variable] ?? "";
  if (protocol === "" || protocol.startsWith("http/")) return; // Collectors accept JSON, too.
  const problem = `${variable}=${protocol} is not supported; the export uses http/json`;
  if (!problems.includes(problem)) problems.push(problem);
}

function intervalOf(env: OtelVariables, problems: string[]): number {
  const text = env.OTEL_METRIC_EXPORT_INTERVAL ?? "";
  if (text === "") return METRICS_EVERY_MS;
  const everyMs = Number(text);
  if (Number.isInteger(everyMs) && everyMs >= METRICS_EVERY_MS_MIN) return everyMs;
  const expected = `milliseconds, at least ${METRICS_EVERY_MS_MIN}`;
  problems.push(`OTEL_METRIC_EXPORT_INTERVAL=${text} is not followed; expected ${expected}`);
  return METRICS_EVERY_MS;
}
