import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../test/support/temporary-folder.ts";
import { packageVersion } from "../platform/package-version.ts";
import { tidegateDependency } from "./tidegate-dependency.ts";

const folder = useTemporaryFolder("dependency");

/** A folder in which npm has installed the package from `resolved`. */
function installedFrom(name: string, resolved: string): string {
  const installed = join(folder, name, "node_modules", "tidegate");
  mkdirSync(installed, { recursive: true });
  const packages = { "node_modules/tidegate": { version: "0.1.0", resolved } };
  const lock = join(folder, name, "node_modules", ".package-lock.json");
  writeFileSync(lock, JSON.stringify({ packages }));
  return installed;
}

test("a project of an installed tarball depends on that tarball (D1)", () => {
  writeFileSync(join(folder, "tidegate-0.1.0.tgz"), "");
  const installed = installedFrom("work", "file:../tidegate-0.1.0.tgz");
  const project = join(folder, "work", "shop");
  expect(tidegateDependency(project, null, installed)).toBe("file:../../tidegate-0.1.0.tgz");
});

test.each([
  ["registry", "https://registry.example/tidegate/-/tidegate-0.1.0.tgz"],
  ["deleted", "file:../deleted.tgz"],
])("a package from npm, or from a tarball that is gone, is a version: %s", (name, resolved) => {
  const installed = installedFrom(name, resolved);
  expect(tidegateDependency(join(folder, name), null, installed)).toBe(`^${packageVersion()}`);
});

test("a project of a clone depends on the clone", () => {
  expect(tidegateDependency("/a/shop", "/a/clone")).toBe("file:../clone");
});
