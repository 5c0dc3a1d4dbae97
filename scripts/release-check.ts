// Release check: whether the package could be published as it is (`npm run release:check`).
//   R1. Every check runs, and each prints one line; one failed check fails the command.
//   R2. It checks the tarball that npm would publish, not the working folder.
//   R3. With --release, which the release workflow sets, the changelog needs a dated section of the
//       version. Without it, an unreleased section will do.
//   R4. npm refuses provenance (E422) unless `repository` names the repository that publishes.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LockFile, runtimePaths, SBOM_FILE, sbomOf } from "./sbom.ts";

/** Licences that runtime dependencies may have: permissive ones only. */
export const LICENCES_ALLOWED: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
]);

/** With space for growth; a jump beyond it should be a decision. */
export const SIZE_BUDGET = { packedBytes: 2_500_000, unpackedBytes: 10_000_000, files: 4_000 };

export interface PackedPackage {
  readonly size: number;
  readonly unpackedSize: number;
  readonly entryCount: number;
  readonly files: readonly { readonly path: string }[];
}

/** The problems of each check; an empty list is a pass. */
export function licenceProblems(lock: LockFile): string[] {
  return runtimePaths(lock).flatMap((path) => {
    const { license = "none" } = lock.packages[path] ?? {};
    return LICENCES_ALLOWED.has(license) ? [] : [`${path} has the licence ${license}`];
  });
}

export function changelogProblems(changelog: string, version: string, release: boolean): string[] {
  const sections = [...changelog.matchAll(/^## \[(.+?)\](.*)$/gm)];
  const section = sections.find(([, name]) => name === version);
  if (section !== undefined) {
    const isDated = / - \d{4}-\d{2}-\d{2}$/.test(section[2] ?? "");
    return isDated ? [] : [`the section [${version}] has no date: ## [${version}] - YYYY-MM-DD`];
  }
  if (release) return [`CHANGELOG.md has no section [${version}]; rename [Unreleased] to it`]; // R3
  const isNoted = sections.some(([, name]) => name === "Unreleased");
  return isNoted ? [] : ["CHANGELOG.md has no section [Unreleased]"];
}

export interface PackageFields {
  readonly version: string;
  readonly repository?: { readonly url?: string };
  readonly homepage?: string;
  readonly bugs?: string;
}

/** `publisher` is owner/name of the repository that publishes, if a workflow says so (R4). */
export function repositoryProblems(fields: PackageFields, publisher: string | null): string[] {
  const url = fields.repository?.url ?? "";
  const [, name = ""] = /^git\+https:\/\/github\.com\/([\w.-]+\/[\w.-]+)\.git$/.exec(url) ?? [];
  if (name === "") return ["package.json has no repository.url like git+https://github.com/….git"];
  const page = `https://github.com/${name}`;
  return [
    ...(publisher === null || publisher === name
      ? []
      : [`repository.url is ${name}, but ${publisher} publishes; npm would refuse it`]),
    ...(fields.homepage?.startsWith(page) ? [] : [`homepage does not start with ${page}`]),
    ...(fields.bugs === `${page}/issues` ? [] : [`bugs is not ${page}/issues`]),
  ];
}

export function sizeProblems({ size, unpackedSize, entryCount }: PackedPackage): string[] {
  const checks: readonly [string, number, number][] = [
    ["packed bytes", size, SIZE_BUDGET.packedBytes],
    ["unpacked bytes", unpackedSize, SIZE_BUDGET.unpackedBytes],
    ["files", entryCount, SIZE_BUDGET.files],
  ];
  return checks
    .filter(([, actual, budget]) => actual > budget)
    .map(([what, actual, budget]) => `${actual} ${what}, over the budget of ${budget}`);
}

export function contentProblems({ files }: PackedPackage): string[] {
  const paths = files.map(({ path }) => path);
  const required = [SBOM_FILE, "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"];
  const missing = required.filter((path) => !paths.includes(path));
  const tests = paths.filter((path) => /\.test\./.test(path));
  return [
    ...missing.map((path) => `${path} is missing`),
    ...tests.map((path) => `${path} is a test`),
  ];
}

export function sbomProblems(packed: string, lock: LockFile): string[] {
  const expected = `${JSON.stringify(sbomOf(lock), null, 2)}\n`;
  return packed === expected ? [] : [`${SBOM_FILE} does not match package-lock.json; build again`];
}

async function publintProblems(tarball: string): Promise<string[]> {
  const { publint } = await import("publint");
  const bytes = new Uint8Array(readFileSync(tarball)).buffer;
  const { messages } = await publint({ pack: { tarball: bytes }, strict: true });
  return messages.map(({ code, path }) => `${code} at ${path.join(".")}`);
}

function typeProblems(root: string, tarball: string): string[] {
  const attw = join(root, "node_modules", ".bin", "attw");
  const args = [tarball, "--profile", "node16", "--no-color", "--no-emoji", "--format", "ascii"];
  const { status, stdout } = spawnSync(attw, args, { cwd: root, encoding: "utf8" });
  return status === 0 ? [] : [stdout.trim()];
}

async function main(): Promise<void> {
  const root = join(import.meta.dirname, "..");
  const release = process.argv.includes("--release");
  const folder = mkdtempSync(join(tmpdir(), "tidegate-release-"));
  try {
    const text = (path: string) => readFileSync(join(root, path), "utf8");
    const lock = JSON.parse(text("package-lock.json")) as LockFile;
    const fields = JSON.parse(text("package.json")) as PackageFields;
    const { version } = fields;
    const args = ["pack", "--json", "--pack-destination", folder];
    const pack = spawnSync("npm", args, { cwd: root, encoding: "utf8", maxBuffer: 100_000_000 });
    if (pack.status !== 0) throw new Error(`npm pack failed: ${pack.stderr}`);
    // The build prints before the JSON.
    const [packed] = JSON.parse(pack.stdout.slice(pack.stdout.indexOf("["))) as [
      PackedPackage & { filename: string },
    ];
    const tarball = join(folder, packed.filename); // R2
    const untar = ["xzf", tarball, "-O", `package/${SBOM_FILE}`];
    const sbom = spawnSync("tar", untar, { encoding: "utf8" }).stdout;
    const licences = runtimePaths(lock).length;
    const checks: readonly [string, readonly string[]][] = [
      [`contents: ${packed.entryCount} files`, contentProblems(packed)],
      [`size: ${packed.size} bytes packed, ${packed.unpackedSize} unpacked`, sizeProblems(packed)],
      [`licences: ${licences} runtime packages`, licenceProblems(lock)],
      [`SBOM: ${SBOM_FILE}`, sbomProblems(sbom, lock)],
      [`changelog: ${version}`, changelogProblems(text("CHANGELOG.md"), version, release)],
      ["repository", repositoryProblems(fields, process.env.GITHUB_REPOSITORY ?? null)],
      ["publint", await publintProblems(tarball)],
      ["types in every module system", typeProblems(root, tarball)],
    ];
    for (const [what, problems] of checks) {
      console.log(`${problems.length === 0 ? "ok    " : "FAILED"} ${what}`); // R1
      for (const problem of problems) console.log(`       ${problem}`);
    }
    process.exitCode = checks.every(([, problems]) => problems.length === 0) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
