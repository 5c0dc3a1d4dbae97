// Infra files: everything that `tidegate infra` writes: the root of a pipeline and copies of the
// modules it calls, so that the folder works by itself.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { InfraPlan } from "../../infra/infra-plan.ts";
import { type InfraFiles, modulesOf, rootFiles } from "../../infra/root-files.ts";

/** The modules of the package, beside src in a clone and beside dist in the package. */
const MODULES = join(import.meta.dirname, "../../../infra/terraform/modules");

export function infraFiles(plan: InfraPlan): InfraFiles {
  const files = new Map(rootFiles(plan));
  for (const name of modulesOf(plan)) {
    for (const file of readdirSync(join(MODULES, name)).toSorted()) {
      files.set(`modules/${name}/${file}`, readFileSync(join(MODULES, name, file), "utf8"));
    }
  }
  return files;
}
