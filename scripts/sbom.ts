// SBOM: the runtime dependencies of the package as a CycloneDX document, from package-lock.json.
//   S1. Every package that `npm install tidegate` adds is in it, with version, licence and the
//       checksum of its tarball. Optional peers are the user's, and are not.
//   S2. The same lock file gives the same bytes: no time, no random serial number.
//   S3. A package without a licence or a checksum is an error.
// `npm sbom --omit=dev` would do, but it leaves out packages that a development dependency needs,
// too: pino, for example.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface Component {
  readonly "bom-ref": string;
  readonly type: "library";
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly alg: "SHA-512"; readonly content: string }[];
}

export interface Sbom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly version: 1;
  readonly metadata: { readonly component: Omit<Component, "hashes" | "type"> & { type: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export const SBOM_FILE = "dist/sbom.cdx.json";

/** The document of a lock file (S1, S2). */
export function sbomOf(lock: LockFile): Sbom {
  const root = lock.packages[""] ?? {};
  const paths = runtimePaths(lock);
  const components = paths.map((path) => componentOf(path, lock.packages[path] ?? {}));
  const rootRef = `${root.name}@${root.version}`;
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        "bom-ref": rootRef,
        type: "library",
        name: root.name ?? "",
        version: root.version ?? "",
        purl: purlOf(root.name ?? "", root.version ?? ""),
        licenses: [{ license: { id: root.license ?? "" } }],
      },
    },
    components,
    dependencies: ["", ...paths].map((path) => ({
      ref: path === "" ? rootRef : refOf(path, lock.packages[path] ?? {}),
      dependsOn: dependenciesOf(lock, path)
        .map((target) => refOf(target, lock.packages[target] ?? {}))
        .toSorted(),
    })),
  };
}

/** Paths in the lock file of everything that the package needs at run time, sorted. */
export function runtimePaths(lock: LockFile): string[] {
  const needed = new Set<string>();
  const open = dependenciesOf(lock, "");
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (needed.has(path)) continue;
    needed.add(path);
    open.push(...dependenciesOf(lock, path));
  }
  return [...needed].toSorted();
}

/** Where the dependencies of a package are installed: in its own folder, or in one above it. */
function dependenciesOf({ packages }: LockFile, path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    for (
      let folder = path;
      ;
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))
    ) {
      const candidate = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
      if (packages[candidate] !== undefined) return [candidate];
      if (folder === "") break;
    }
    if (name in optionalDependencies) return [];
    throw new Error(`package-lock.json has no ${name}, which ${path || "the package"} needs`);
  });
}

function componentOf(path: string, locked: LockedPackage): Component {
  const { version = "", license, integrity = "" } = locked;
  const name = nameOf(path);
  const [, digest] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (license === undefined || digest === undefined) {
    throw new Error(`package-lock.json has no licence or checksum of ${name}`); // S3
  }
  return {
    "bom-ref": refOf(path, locked),
    type: "library",
    name,
    version,
    purl: purlOf(name, version),
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

function refOf(path: string, { version }: LockedPackage): string {
  return `${nameOf(path)}@${version}`;
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** Writes the document into the build. */
export function writeSbom(root: string): void {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as LockFile;
  writeFileSync(join(root, SBOM_FILE), `${JSON.stringify(sbomOf(lock), null, 2)}\n`);
}
