// Telemetry: numbers about what happens. A failing exporter never reaches the caller.

export interface Telemetry {
  /** Adds to a counter. */
  count(name: string, by?: number, attributes?: Readonly<Record<string, string>>): void;
  /** Adds one value to a distribution. */
  record(name: string, value: number, attributes?: Readonly<Record<string, string>>): void;
}
