// Load pipeline: from the name of a file to the pipeline that it exports.
//   F1. An error is one paragraph about the user's file, with the position and the fix, and never a
//       stack trace (load-failure.ts writes it).
//   F2. `import "tidegate"`, in that file and in all its imports, means this package (L1 of
//       link-package.ts).
//   F3. A pipeline is recognised by its kind and fields, not by its creator: a caller of the
//       library may pass one that another copy of the package created.

import { statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { linkPackage } from "./link-package.ts";
import { describeLoadFailure } from "./load-failure.ts";

export type { Pipeline };

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs"];

const FILE_NAME = /\.m?[jt]s$/;

/** Whether a text that names a pipeline names its file. */
export function isPipelineFile(named: string): boolean {
  return FILE_NAME.test(named);
}

/** The default export of `file`; throws TG_PIPELINE_INVALID if it is not a pipeline. */
export async function loadPipeline(file: string): Promise<Pipeline> {
  const path = resolve(file);
  checkFile(file, path);
  const loaded = linkPackage(); // F2
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    throw refusal(describeLoadFailure(error, { file, path, loaded: [...loaded] }), error);
  }
  return pipelineOf(module, file);
}

function checkFile(file: string, path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw refusal(`the file ${file} does not exist`);
  if (stats.isDirectory()) {
    throw refusal(`${file} is a folder; name a file in it, such as ${join(file, "pipeline.ts")}`);
  }
  const extension = extname(path);
  if (!EXTENSIONS.includes(extension)) {
    throw refusal(
      `${file} is not a pipeline file; its name must end with ${EXTENSIONS.join(", ")}`,
    );
  }
  if (extension.endsWith("ts") && !process.features.typescript) {
    const needed = "22.18 or later, or Node 22 with --experimental-strip-types";
    throw refusal(`${file} is TypeScript, which needs Node ${needed}; this is ${process.version}`);
  }
}

/** The default export of a module, if this version can run it. */
export function pipelineOf(module: Readonly<Record<string, unknown>>, file: string): Pipeline {
  const value = module.default;
  if (value === undefined) throw refusal(noDefault(module, file));
  if (!isPipeline(value)) {
    const fix = "write `export default pipeline({ ... })`";
    throw refusal(`the default export of ${file} is ${kindOf(value)}, not a pipeline; ${fix}`);
  }
  const problems = shapeProblems(value);
  if (problems.length > 0) {
    throw refusal(
      `the pipeline of ${file} was created by another version of tidegate, which this one cannot ` +
        `run (${problems.join(", ")}); install one version`,
    );
  }
  return value;
}

function noDefault(module: Readonly<Record<string, unknown>>, file: string): string {
  const names = Object.keys(module);
  const named = names.find((name) => isPipeline(module[name]));
  if (named !== undefined) {
    const fix = `write \`export default ${named}\``;
    return `${file} has no default export; its pipeline is the export "${named}": ${fix}`;
  }
  const others = names.length === 0 ? "exports nothing" : `exports only ${names.join(", ")}`;
  return `${file} has no default export and ${others}; write \`export default pipeline({ ... })\``;
}

function isPipeline(value: unknown): value is Pipeline {
  if (typeof value !== "object" || value === null) return false;
  return (value as { kind?: unknown }).kind === "tidegate-pipeline"; // F3
}

/** Fields that a pipeline of another copy of the package lacks. */
function shapeProblems(pipeline: Pipeline): string[] {
  const { retry, eventTime, retention } = pipeline;
  const groups = { ...retry, ...eventTime, ...retention };
  const numbers: Record<string, unknown> = { ...groups, ...pipeline };
  const wanted = ["attempts", "baseMs", "capMs", "generation", "timeoutMs", "visibilityMs"];
  const missing = [...wanted, "outOfOrderMs", "ledgerDays"].filter(
    (name) => typeof numbers[name] !== "number",
  );
  const problems = missing.map((name) => `no ${name}`);
  if (typeof pipeline.name !== "string") problems.push("no name");
  if (typeof pipeline.handler !== "function") problems.push("no handler");
  if (typeof pipeline.source?.contents !== "string") problems.push("no source");
  if (typeof pipeline.concurrency?.total !== "number") problems.push("no concurrency");
  if (!Array.isArray(pipeline.mask)) problems.push("no mask");
  if (typeof pipeline.frozen?.parameters !== "object") problems.push("no frozen");
  return problems;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof Promise) return "a promise (`await` it)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") {
    return "handler" in value || "source" in value ? "a bare description" : "an object";
  }
  return typeof value === "function" ? "a function" : `the ${typeof value} ${String(value)}`;
}

function refusal(message: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_PIPELINE_INVALID", message, { cause });
}
