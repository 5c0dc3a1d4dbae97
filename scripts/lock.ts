// Lock: completes package-lock.json after a change of dependencies (`npm run lock`).
//   L1. `npm ci` rejects a lock without an entry for an optional dependency. npm omits those that
//       the current registry does not have (a mirror with one platform's binaries, for example),
//       and such a lock would then fail on every fresh clone.
//   L2. An entry added here has a version and a platform, but no integrity: npm installs it only on
//       that platform, and adds the integrity on the next `npm install` that sees the package.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

export interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  readonly neededBy: string;
}

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "openharmony", "win32"];
const PROCESSORS = [
  "arm",
  "arm64",
  "ia32",
  "loong64",
  "ppc64",
  "riscv64",
  "s390x",
  "wasm32",
  "x64",
];

/** Optional dependencies of locked packages that are missing from the lock (L1). */
export function missingFromLock(lock: Lock): MissingPackage[] {
  return Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !isLocked(lock, path, name))
      .map(([name, version]) => ({ name, version, neededBy: path })),
  );
}

/** The same lock with an entry for each missing optional dependency, in npm's order (L2). */
export function completeLock<T extends Lock>(lock: T): T {
  const added = missingFromLock(lock).map(({ name, version, neededBy }) => {
    const dev = lock.packages[neededBy]?.dev;
    const { os, libc, cpu } = platformOf(name);
    const entry: LockedPackage = {
      version: exactVersion(name, version),
      ...(cpu && { cpu }),
      ...(dev && { dev }),
      ...(libc && { libc }),
      optional: true,
      ...(os && { os }),
    };
    return [`node_modules/${name}`, entry] as const;
  });
  const entries = [...Object.entries(lock.packages), ...added];
  entries.sort(([a], [b]) => a.localeCompare(b, "en"));
  return { ...lock, packages: Object.fromEntries(entries) };
}

/** Searches where Node would: beside the package, then in every folder above it. */
function isLocked(lock: Lock, path: string, name: string): boolean {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    if (lock.packages[`${at === "" ? "" : `${at}/`}node_modules/${name}`] !== undefined)
      return true;
    if (at === "") return false;
  }
}

function exactVersion(name: string, version: string): string {
  if (/^\d+\.\d+\.\d+/.test(version)) return version;
  throw new Error(`${name} has the range "${version}"; expected an exact version`);
}

/** The platform fields of package.json, derived from the name of a platform package. */
function platformOf(name: string): LockedPackage {
  const words = name.slice(name.indexOf("/") + 1).split("-");
  const os = words.filter((word) => SYSTEMS.includes(word));
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  if (cpu.length === 0)
    throw new Error(`${name} has no platform in its name; add it to the lock by hand`);
  const libc = ["gnu", "musl"].filter((word) => words.includes(word));
  return {
    cpu,
    ...(os.length > 0 && { os }),
    ...(libc.length > 0 && { libc: libc.map((word) => (word === "gnu" ? "glibc" : word)) }),
  };
}

function main(): void {
  const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const missing = missingFromLock(lock);
  writeFileSync("package-lock.json", `${JSON.stringify(completeLock(lock), null, 2)}\n`);
  console.log(`package-lock.json: ${missing.length} optional packages added`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
