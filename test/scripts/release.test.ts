// Releases: the checks find what they are for, and the workflow cannot publish without them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  changelogProblems,
  contentProblems,
  licenceProblems,
  type PackageFields,
  repositoryProblems,
  SIZE_BUDGET,
  sbomProblems,
  sizeProblems,
} from "../../scripts/release-check.ts";
import { notesOf } from "../../scripts/release-notes.ts";
import { type LockFile, runtimePaths, sbomOf } from "../../scripts/sbom.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const lock = JSON.parse(read("package-lock.json")) as LockFile;
const fields = JSON.parse(read("package.json")) as PackageFields & { dependencies: object };
const { dependencies, version } = fields;

describe("the SBOM", () => {
  const sbom = sbomOf(lock);

  test("has every runtime dependency with version, licence and checksum, and no other package", () => {
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(names).toContain("thread-stream"); // A dependency of a dependency.
    expect(names).not.toContain("vitest");
    expect(names).not.toContain("@aws-sdk/client-sqs"); // An optional peer.
    for (const { licenses, hashes } of sbom.components) {
      expect(licenses[0]?.license.id).toMatch(/^[\w.-]+$/);
      expect(hashes[0]?.content).toMatch(/^[0-9a-f]{128}$/);
    }
  });

  test("is the same for the same lock file, and every reference in it exists", () => {
    expect(sbomOf(JSON.parse(JSON.stringify(lock)))).toEqual(sbom);
    expect(sbom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
    const refs = new Set([
      sbom.metadata.component["bom-ref"],
      ...sbom.components.map((component) => component["bom-ref"]),
    ]);
    expect(refs.size).toBe(sbom.components.length + 1);
    for (const { ref, dependsOn } of sbom.dependencies) {
      for (const name of [ref, ...dependsOn]) expect(refs).toContain(name);
    }
  });

  test("a package without a licence or a checksum is an error", () => {
    const path = runtimePaths(lock)[0] ?? "";
    const { license: _licence, ...unlicensed } = lock.packages[path] ?? {};
    const broken = { packages: { ...lock.packages, [path]: unlicensed } };
    expect(() => sbomOf(broken)).toThrow("has no licence or checksum of");
  });

  test("a nested version is found before the one at the top", () => {
    const integrity = `sha512-${Buffer.alloc(64).toString("base64")}`;
    const leaf = { license: "MIT", integrity };
    const packages = {
      "": { name: "r", version: "1.0.0", license: "MIT", dependencies: { a: "1" } },
      "node_modules/a": { ...leaf, version: "1.0.0", dependencies: { b: "2" } },
      "node_modules/a/node_modules/b": { ...leaf, version: "2.0.0" },
      "node_modules/b": { ...leaf, version: "1.0.0" },
    };
    expect(runtimePaths({ packages })).toEqual(["node_modules/a", "node_modules/a/node_modules/b"]);
  });
});

describe("the checks", () => {
  test("accept this repository", () => {
    expect(licenceProblems(lock)).toEqual([]);
    expect(changelogProblems(read("CHANGELOG.md"), version, false)).toEqual([]);
    expect(repositoryProblems(fields, null)).toEqual([]);
  });

  test("find a licence that is not permissive", () => {
    const path = runtimePaths(lock)[0] ?? "";
    const changed = { ...lock.packages[path], license: "AGPL-3.0" };
    const packages = { ...lock.packages, [path]: changed };
    expect(licenceProblems({ packages })).toEqual([`${path} has the licence AGPL-3.0`]);
  });

  test("find a release without its dated section in the changelog", () => {
    const text = "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n\n## [0.9.0]\n";
    expect(changelogProblems(text, "1.0.0", true)).toEqual([]);
    expect(changelogProblems(text, "1.1.0", false)).toEqual([]);
    expect(changelogProblems(text, "1.1.0", true)).toHaveLength(1);
    expect(changelogProblems(text, "0.9.0", true)).toEqual([
      "the section [0.9.0] has no date: ## [0.9.0] - YYYY-MM-DD",
    ]);
    expect(changelogProblems("# Changelog\n", "1.0.0", false)).toHaveLength(1);
  });

  test("find a package without a repository, or with another than the one that publishes", () => {
    const { repository: _repository, ...without } = fields;
    expect(repositoryProblems(without, null)).toHaveLength(1);
    expect(repositoryProblems(fields, "someone/fork")).toHaveLength(1);
    expect(repositoryProblems({ ...fields, homepage: "https://example.com" }, null)).toHaveLength(
      1,
    );
    const { bugs: _bugs, ...unreported } = fields;
    expect(repositoryProblems(unreported, null)).toHaveLength(1);
  });

  test("find a package that is too large, or lacks its SBOM, or has tests in it", () => {
    const { packedBytes, unpackedBytes, files } = SIZE_BUDGET;
    const packed = { size: packedBytes, unpackedSize: unpackedBytes, entryCount: files, files: [] };
    expect(sizeProblems(packed)).toEqual([]);
    expect(sizeProblems({ ...packed, size: packedBytes + 1 })).toHaveLength(1);
    expect(contentProblems({ ...packed, files: [{ path: "dist/x.test.js" }] })).toEqual(
      expect.arrayContaining(["dist/sbom.cdx.json is missing", "dist/x.test.js is a test"]),
    );
    expect(sbomProblems("{}", lock)).toHaveLength(1);
  });
});

describe("the notes of a release", () => {
  const text = "# Changelog\n\nIntro.\n\n## [1.1.0] - 2026-02-01\n\n- b\n\n## [1.0.0]\n\n- a\n";

  test("are the section of its version, and nothing else", () => {
    expect(notesOf(text, "1.1.0")).toBe("- b\n");
    expect(notesOf(text, "1.0.0")).toBe("- a\n");
  });

  test("a version without a section, or with an empty one, is an error", () => {
    expect(() => notesOf(text, "1.2.0")).toThrow("no notes of 1.2.0");
    expect(() => notesOf("## [1.0.0]\n\n## [0.9.0]\n- a\n", "1.0.0")).toThrow("no notes of 1.0.0");
  });
});

describe("the workflows", () => {
  const ci = read(".github/workflows/ci.yml");
  const release = read(".github/workflows/release.yml");

  test.each([ci, release])(
    "pin every action by commit, with its version in a comment",
    (workflow) => {
      const uses = [...workflow.matchAll(/uses: ([^.].+)$/gm)].map(([, action = ""]) => action);
      expect(uses.length).toBeGreaterThan(0);
      for (const action of uses)
        expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    },
  );

  test("CI runs the gate on every push and pull request, on the lowest Node and the newest", () => {
    expect(ci).toMatch(/^ {2}push:\n {4}branches: \[main\]\n {2}pull_request:$/m);
    expect(ci).toContain("- run: .ci/run\n");
    expect(ci).toContain('node: ["22.18", "24"]');
    expect(ci).not.toMatch(/secrets\.|: write/);
  });

  test("the release publishes with provenance, after the gate and the checks, and holds no token", () => {
    const steps = [
      "./.github/workflows/ci.yml",
      "npm run release:check -- --release",
      "npm publish",
    ];
    const positions = steps.map((step) => release.search(new RegExp(`(run|uses): ${step}`)));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(positions).not.toContain(-1);
    expect(release).toContain("publish:\n    needs: gate\n");
    expect(release).toContain("npm publish --provenance");
    expect(release).toContain("id-token: write");
    expect(release).toContain("\npermissions: {}\n");
    expect(release).not.toMatch(/secrets\./);
  });

  test("the release takes its notes from the changelog's section of its version", () => {
    expect(release).toMatch(/release-notes\.ts "\$\{GITHUB_REF_NAME#v\}" > notes\.md /);
    expect(release).toContain("--notes-file notes.md");
  });
});
