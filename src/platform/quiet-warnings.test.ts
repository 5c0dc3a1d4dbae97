import { expect, test } from "vitest";
import { withoutExperimental } from "./quiet-warnings.ts";

test("warnings about experimental features of Node are dropped, in every form of the call", () => {
  const printed: unknown[] = [];
  const emit = withoutExperimental(((warning: unknown) => void printed.push(warning)) as never);
  const experimental = Object.assign(new Error("SQLite"), { name: "ExperimentalWarning" });
  emit("SQLite is an experimental feature", "ExperimentalWarning");
  emit("SQLite is an experimental feature", { type: "ExperimentalWarning" });
  emit(experimental);
  expect(printed).toEqual([]);
  const deprecated = Object.assign(new Error("old"), { name: "DeprecationWarning" });
  emit("old", "DeprecationWarning", "DEP0001");
  emit(deprecated);
  emit("plain");
  expect(printed).toEqual(["old", deprecated, "plain"]);
});
