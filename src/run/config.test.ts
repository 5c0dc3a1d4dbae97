import { expect, test } from "vitest";
import { fillSettings, SETTINGS } from "./config.ts";

test("a setting that is not given has the default of the table, with its type", () => {
  expect(fillSettings("run", {})).toEqual({
    data: ".tidegate",
    port: 4566,
    metricsPort: 9464,
    metricsHost: "127.0.0.1",
    drainMs: 25_000,
    logLevel: "info",
  });
});

test("dev falls back to what suits one machine and a person who watches", () => {
  const settings = fillSettings("dev", { drainMs: 0, region: undefined });
  expect(settings).toMatchObject({ metricsPort: 0, logLevel: "warn", region: "us-east-1" });
  expect(settings.drainMs).toBe(0);
});

test("flags and variables of one setting are named alike", () => {
  for (const [name, { flag, env }] of Object.entries(SETTINGS)) {
    expect(env).toBe(`TIDEGATE_${flag.replaceAll("-", "_").toUpperCase()}`);
    expect(flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())).toBe(name);
  }
});
