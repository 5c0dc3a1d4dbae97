// Link package: `import "tidegate"` in a user's file means the package that runs it.
//   L1. The file and its runner never come from two versions, or from a build that is missing: a
//       clone runs from its sources.

import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

/** The condition in package.json under which imports resolve to the sources. */
const SOURCE_CONDITION = "tidegate-source";
/** Our own files, which may be outside node_modules and are not the user's. */
const OWN_FILES = new URL("../..", import.meta.url).href;
/** User files that are recorded, to find the one that does not compile. */
const FILES_MAX = 200;

let userFiles: Set<string> | undefined;

/** Installs the hook once (L1); the set grows by each user file that is imported from now on. */
export function linkPackage(): ReadonlySet<string> {
  if (userFiles !== undefined) return userFiles;
  const files = new Set<string>();
  userFiles = files;
  // Node 23.0 to 23.4 have no hooks; there, the project's own copy of the package is imported.
  nodeModule.registerHooks?.({
    resolve(specifier, context, next) {
      const ours = specifier === "tidegate" || specifier.startsWith("tidegate/");
      const resolved = next(specifier, ours ? { ...context, ...ownContext(context) } : context);
      const { url } = resolved;
      if (isUsers(url) && files.size < FILES_MAX) files.add(fileURLToPath(url));
      return resolved;
    },
  });
  return files;
}

function isUsers(url: string): boolean {
  return url.startsWith("file:") && !url.includes("/node_modules/") && !url.startsWith(OWN_FILES);
}

/** Resolves the import as if it were in this file: a package may import itself by name. */
function ownContext({ conditions }: { readonly conditions: readonly string[] }) {
  const fromSource = import.meta.url.endsWith(".ts");
  return {
    parentURL: import.meta.url,
    conditions: fromSource ? [SOURCE_CONDITION, ...conditions] : [...conditions],
  };
}
