// Tidegate dependency: the version of Tidegate in the package.json of a new project.
//   D1. A project gets what its author runs: the clone, the tarball, or the version on npm. A clone
//       and a tarball may have a version that is not on npm.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { packageVersion } from "../platform/package-version.ts";

const PACKAGE_FOLDER = fileURLToPath(new URL("../..", import.meta.url));

/** The dependency of a project in `folder`; `clone` is the repository whose sources run, if any. */
export function tidegateDependency(
  folder: string,
  clone: string | null,
  packageFolder: string = PACKAGE_FOLDER,
): string {
  const source = clone ?? installedTarball(packageFolder);
  return source === null ? `^${packageVersion()}` : `file:${relative(resolve(folder), source)}`;
}

/** The tarball that npm installed the package from; null if it came from a registry. */
function installedTarball(packageFolder: string): string | null {
  const modules = dirname(resolve(packageFolder));
  const lock = join(modules, ".package-lock.json"); // npm's record of what is in node_modules.
  if (!existsSync(lock)) return null;
  try {
    const { packages = {} } = JSON.parse(readFileSync(lock, "utf8"));
    const { resolved = "" } = packages["node_modules/tidegate"] ?? {};
    const [, path] = /^file:(.+\.(?:tgz|tar\.gz))$/.exec(resolved) ?? [];
    const tarball = path === undefined ? null : resolve(dirname(modules), path);
    return tarball !== null && existsSync(tarball) ? tarball : null;
  } catch {
    return null; // Another package manager's file.
  }
}
