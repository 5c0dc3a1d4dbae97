// Load Terraform: the modules of a folder as scopes, from the root to the modules that it calls.
//   L1. Modules of a path in the project are read. Modules from a registry or a repository are
//       not, and neither is Terraform as JSON: both are returned, so that the report counts them.
//   L2. A file that does not parse is returned in the same way, with line and problem. If no file
//       of the root parses, the load ends with that sentence.

import { TidegateError } from "../../core/errors.ts";
import type { Unread } from "../unread.ts";
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
  /** What was not read (L1, L2). */
  readonly unread: readonly Unread[];
}

export function loadTerraform(folder: string, source: TerraformSource): LoadedTerraform {
  const files = source.filesIn(folder);
  if (files === null) throw refusal(`the folder ${folder} does not exist`);
  if (files.length === 0) throw refusal(`the folder ${folder} has no Terraform files (*.tf)`);
  const scopes: TerraformScope[] = [];
  const unread = new Map<string, Unread>();
  const note = (reason: Unread["reason"], text: string) => unread.set(text, { reason, text });

  function blocksOf({ file, text }: { file: string; text: string }): readonly TerraformBlock[] {
    if (file.endsWith(".json")) {
      note("format", `${file} is Terraform as JSON, which the doctor does not read`); // L1
      return [];
    }
    try {
      return parseHcl(text).blocks.map((block) => ({ file, block }));
    } catch (error) {
      if (!(error instanceof HclSyntaxError)) throw error;
      note("unparsed", `${file}:${error.line} is not valid Terraform: ${error.message}`); // L2
      return [];
    }
  }

  function load(path: string, from: string, inputs: Record<string, TerraformValue>, deep: number) {
    const blocks = (source.filesIn(from) ?? []).flatMap(blocksOf);
    const scope = new TerraformScope(path, blocks, inputs);
    scopes.push(scope);
    for (const { block } of blocks) {
      if (block.type !== "module" || !scope.exists(block.body)) continue;
      const [label = ""] = block.labels;
      const given = scope.attribute(block.body, "source");
      const local = typeof given === "string" && /^\.{1,2}\//.test(given);
      const target = local ? source.resolve(from, given) : "";
      if (!local || source.filesIn(target) === null || deep >= MODULES_DEEP_MAX) {
        const name = typeof given === "string" ? given : label;
        note("module", `module ${name} is not in this project`); // L1
        continue;
      }
      const arguments_ = block.body.attributes.map(({ name, value }) => [name, scope.value(value)]);
      const name = path === "" ? `module.${label}` : `${path}.module.${label}`;
      scope.children.set(label, load(name, target, Object.fromEntries(arguments_), deep + 1));
    }
    return scope;
  }

  const root = load("", folder, {}, 0);
  const all = [...unread.values()];
  const problem = all.find(({ reason }) => reason === "unparsed");
  if (root.blocks.length === 0 && problem !== undefined) throw refusal(problem.text); // L2
  return { scopes, unread: all };
}

function refusal(message: string): TidegateError {
  return new TidegateError("TG_CONFIG_INVALID", message);
}
