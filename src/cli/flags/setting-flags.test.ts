import { expect, test } from "vitest";
import { command, EXIT_OK } from "../command.ts";
import { helpOf } from "./help.ts";
import { parseFlags } from "./parse-flags.ts";
import { settingFlags, settingsFrom } from "./setting-flags.ts";

const run = command({
  name: "run",
  summary: "Run.",
  flags: settingFlags("run"),
  run: () => Promise.resolve(EXIT_OK),
});

function settings(words: readonly string[], env: Record<string, string> = {}) {
  return settingsFrom("run", parseFlags(run, words, env).flags);
}

test("a flag overrides its variable, which overrides the default", () => {
  const env = { TIDEGATE_DRAIN_MS: "5", TIDEGATE_QUEUE: "from-env", TIDEGATE_DATA: "" };
  expect(settings(["--queue", "from-flag"], env)).toEqual({
    queue: "from-flag",
    drainMs: 5,
    data: ".tidegate",
    metricsPort: 9464,
    metricsHost: "127.0.0.1",
    logLevel: "info",
  });
});

test("an invalid variable is rejected by its name", () => {
  expect(() => settings([], { TIDEGATE_METRICS_PORT: "http" })).toThrow(
    'TIDEGATE_METRICS_PORT must be a whole number from 0 to 65535, not "http"',
  );
  expect(() => settings(["--log-level", "loud"])).toThrow(
    '--log-level must be debug or info or warn or error, not "loud"',
  );
});

test("a toggle is a flag without a value, and true or false as a variable", () => {
  const dev = command({ ...run, name: "dev", flags: settingFlags("dev") });
  const toggled = (words: readonly string[], value = "") => {
    const env = { TIDEGATE_ALLOW_LINK_LOCAL: value };
    return settingsFrom("dev", parseFlags(dev, words, env).flags).allowLinkLocal;
  };
  expect([toggled([]), toggled(["--allow-link-local"])]).toEqual([undefined, true]);
  expect([toggled([], "true"), toggled([], "0")]).toEqual([true, false]);
  expect(() => toggled([], "perhaps")).toThrow("TIDEGATE_ALLOW_LINK_LOCAL must be true or false");
});

test("an invalid variable does not prevent help", () => {
  expect(parseFlags(run, ["--help"], { TIDEGATE_METRICS_PORT: "http" }).help).toBe(true);
});

test("help shows the default and the variable of each setting", () => {
  expect(helpOf(run)).toMatch(/--drain-ms MS .*\(default: 25000; env: TIDEGATE_DRAIN_MS\)/);
  expect(helpOf(run)).toMatch(/--queue QUEUE .*\(env: TIDEGATE_QUEUE\)/);
  expect(helpOf(run)).not.toContain("--port");
});
