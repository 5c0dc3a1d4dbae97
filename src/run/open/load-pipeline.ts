// Load pipeline: from the name of a file to the pipeline that it exports.
//   F1. Whatever is wrong is told as one paragraph about the user's file, with the place in it and
//       what to do; never as a stack trace (load-failure.ts finds the words).
//   F2. `import "tidegate"`, in that file and in all that it imports, means this very package: the
//       file and what runs it never come from two versions.
//   F3. A pipeline is known by its kind and its fields, not by who made it: a library caller may
//       hand over one that another copy of the package has made.

import { statSync } from "node:fs";
import * as nodeModule from "node:module";
import { extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { describeLoadFailure } from "./load-failure.ts";

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];
/** Condition of package.json under which our sources are what is imported. */
const SOURCE_CONDITION = "tidegate-source";
/** Where our own files are, which are no user's though they may lie outside node_modules. */
const OWN_FILES = new URL("../..", import.meta.url).href;
/** Files of the user that are remembered, to look for the one that does not compile. */
const LOADED_MAX = 200;

/** The pipeline that `file` exports as its default; fails with TG_PIPELINE_INVALID. */
export async function loadPipeline(file: string): Promise<Pipeline> {
  const path = resolve(file);
  checkFile(file, path);
  const loaded = linkPackage();
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    throw refusal(describeLoadFailure(error, { file, path, loaded: [...loaded] }), error);
  }
  return pipelineOf(module, file);
}

function checkFile(file: string, path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw refusal(`There is no file ${file}.`);
  if (found.isDirectory()) {
    throw refusal(
      `${file} is a folder; name the file in it, such as ${join(file, "pipeline.ts")}.`,
    );
  }
  const extension = extname(path);
  if (!EXTENSIONS.includes(extension)) {
    throw refusal(`${file} is no pipeline file: its name must end with ${EXTENSIONS.join(", ")}.`);
  }
  if (extension.endsWith("ts") && !process.features.typescript) {
    const needed = "22.18 or later, or Node 22 with --experimental-strip-types";
    throw refusal(`${file} is TypeScript, which needs Node ${needed}; this is ${process.version}.`);
  }
}

let loadedFiles: Set<string> | undefined;

/** Makes F2 hold from now on; the set grows by every file of the user's that is imported. */
function linkPackage(): ReadonlySet<string> {
  if (loadedFiles !== undefined) return loadedFiles;
  const loaded = new Set<string>();
  loadedFiles = loaded;
  // Node 22.13 and 22.14 have no hooks; there, the project's own copy of the package is taken.
  nodeModule.registerHooks?.({
    resolve(specifier, context, next) {
      const ours = specifier === "tidegate" || specifier.startsWith("tidegate/");
      const found = next(specifier, ours ? { ...context, ...ownContext(context) } : context);
      if (isUsers(found.url) && loaded.size < LOADED_MAX) loaded.add(fileURLToPath(found.url));
      return found;
    },
  });
  return loaded;
}

function isUsers(url: string): boolean {
  return url.startsWith("file:") && !url.includes("/node_modules/") && !url.startsWith(OWN_FILES);
}

/** A package may import itself by name: so the import is resolved as if it stood in this file. */
function ownContext({ conditions }: { readonly conditions: readonly string[] }) {
  const fromSource = import.meta.url.endsWith(".ts");
  return {
    parentURL: import.meta.url,
    conditions: fromSource ? [SOURCE_CONDITION, ...conditions] : [...conditions],
  };
}

/** The default export, if it is a pipeline that this version can run. */
export function pipelineOf(module: Readonly<Record<string, unknown>>, file: string): Pipeline {
  const found = module.default;
  if (found === undefined) throw refusal(noDefault(module, file));
  if (!isPipeline(found)) {
    const advice = "write `export default pipeline({ ... })`";
    throw refusal(`The default export of ${file} is ${kindOf(found)}, not a pipeline; ${advice}.`);
  }
  const problems = shapeProblems(found);
  if (problems.length > 0) {
    const told = problems.join(", ");
    throw refusal(
      `The pipeline of ${file} was made by another version of tidegate, which this one cannot ` +
        `run (${told}); install one version.`,
    );
  }
  return found;
}

function noDefault(module: Readonly<Record<string, unknown>>, file: string): string {
  const names = Object.keys(module);
  const named = names.find((name) => isPipeline(module[name]));
  if (named !== undefined) {
    const advice = `write \`export default ${named}\``;
    return `${file} has no default export; its pipeline is the export "${named}": ${advice}.`;
  }
  const others = names.length === 0 ? "exports nothing" : `exports only ${names.join(", ")}`;
  return `${file} has no default export and ${others}; write \`export default pipeline({ ... })\`.`;
}

function isPipeline(value: unknown): value is Pipeline {
  if (typeof value !== "object" || value === null) return false;
  return (value as { kind?: unknown }).kind === "tidegate-pipeline"; // F3
}

/** What stands in the way of running a pipeline that this copy of the package has not made. */
function shapeProblems(pipeline: Pipeline): string[] {
  const numbers = { ...pipeline.retry, ...pipeline } as unknown as Record<string, unknown>;
  const wanted = ["attempts", "baseMs", "capMs", "generation", "timeoutMs", "visibilityMs"];
  const missing = [...wanted, "allowedLatenessMs", "ledgerRetentionDays"].filter(
    (name) => typeof numbers[name] !== "number",
  );
  const problems = missing.map((name) => `no ${name}`);
  if (typeof pipeline.name !== "string") problems.push("no name");
  if (typeof pipeline.handler !== "function") problems.push("no handler");
  if (typeof pipeline.source?.contents !== "string") problems.push("no source");
  if (typeof pipeline.concurrency?.total !== "number") problems.push("no concurrency");
  if (!Array.isArray(pipeline.mask) || !Array.isArray(pipeline.errors)) {
    problems.push("no mask or errors");
  }
  return problems;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof Promise) return "a promise (put `await` before it)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") {
    return "handler" in value || "source" in value ? "a bare description" : "an object";
  }
  return typeof value === "function" ? "a function" : `the ${typeof value} ${String(value)}`;
}

function refusal(message: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_PIPELINE_INVALID", message, { cause });
}
