// Load Terraform: the modules of a folder as scopes, from the root to the modules that it calls.
//   L1. Modules of a path in the project are read. Modules from a registry or a repository are not:
//       their names are returned, so that the report can say so.
//   L2. A file that does not parse ends the load with one sentence: file, line and problem.

import { TidegateError } from "../../core/errors.ts";
import { parseHcl } from "./hcl-parser.ts";
import { HclSyntaxError } from "./hcl-syntax.ts";
import { type TerraformBlock, TerraformScope } from "./terraform-scope.ts";
import type { TerraformValue } from "./terraform-values.ts";

/** Calls within calls; Terraform itself refuses a module that calls itself. */
const MODULES_DEEP_MAX = 10;

export interface TerraformSource {
  /** The Terraform files of a folder; null if there is no such folder. */
  filesIn(folder: string): readonly { readonly file: string; readonly text: string }[] | null;
  /** A folder, as seen from another one. */
  resolve(folder: string, path: string): string;
}

export interface LoadedTerraform {
  /** The root, and every module below it. */
  readonly scopes: readonly TerraformScope[];
  /** Sources of modules that were not read (L1). */
  readonly unread: readonly string[];
}

export function loadTerraform(folder: string, source: TerraformSource): LoadedTerraform {
  const files = source.filesIn(folder);
  if (files === null) throw refusal(`the folder ${folder} does not exist`);
  if (files.length === 0) throw refusal(`the folder ${folder} has no Terraform files (*.tf)`);
  const scopes: TerraformScope[] = [];
  const unread = new Set<string>();

  function load(path: string, from: string, inputs: Record<string, TerraformValue>, deep: number) {
    const blocks = (source.filesIn(from) ?? []).flatMap(({ file, text }) => blocksOf(file, text));
    const scope = new TerraformScope(path, blocks, inputs);
    scopes.push(scope);
    for (const { block } of blocks) {
      if (block.type !== "module" || !scope.exists(block.body)) continue;
      const [label = ""] = block.labels;
      const given = scope.attribute(block.body, "source");
      const local = typeof given === "string" && /^\.{1,2}\//.test(given);
      const target = local ? source.resolve(from, given) : "";
      if (!local || source.filesIn(target) === null || deep >= MODULES_DEEP_MAX) {
        unread.add(typeof given === "string" ? given : label); // L1
        continue;
      }
      const arguments_ = block.body.attributes.map(({ name, value }) => [name, scope.value(value)]);
      const name = path === "" ? `module.${label}` : `${path}.module.${label}`;
      scope.children.set(label, load(name, target, Object.fromEntries(arguments_), deep + 1));
    }
    return scope;
  }

  load("", folder, {}, 0);
  return { scopes, unread: [...unread] };
}

function blocksOf(file: string, text: string): readonly TerraformBlock[] {
  try {
    return parseHcl(text).blocks.map((block) => ({ file, block }));
  } catch (error) {
    if (!(error instanceof HclSyntaxError)) throw error;
    throw refusal(`${file}:${error.line} is not valid Terraform: ${error.message}`); // L2
  }
}

function refusal(message: string): TidegateError {
  return new TidegateError("TG_CONFIG_INVALID", message);
}
