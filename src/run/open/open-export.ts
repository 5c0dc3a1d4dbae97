// Open export: the OTLP export of a command, by the OTEL_* variables of its environment.

import { systemClock } from "../../platform/system-clock.ts";
import type { OtlpExport } from "../../telemetry/otlp-export.ts";

/** Null if no variable asks for an export. Loaded on demand: most runs export nothing. */
export async function openExport(onProblem: (text: string) => void): Promise<OtlpExport | null> {
  const { env } = process;
  if (!Object.keys(env).some((name) => name.startsWith("OTEL_"))) return null;
  const [{ openOtlpExport }, { packageVersion }] = await Promise.all([
    import("../../telemetry/otlp-export.ts"),
    import("../../platform/package-version.ts"),
  ]);
  const version = packageVersion();
  return openOtlpExport({ env, clock: systemClock, serviceName: "tidegate", version, onProblem });
}
