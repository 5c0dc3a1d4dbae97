// Examine: collects everything that the doctor can read about a project and runs the rules on it.

import { readFileSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { refuseConfig } from "../core/errors.ts";
import { withoutIgnored } from "../doctor/ignored-findings.ts";
import type { Finding } from "../doctor/rule.ts";
import { diagnose } from "../doctor/rules/all-rules.ts";
import { EMPTY_SETUP, joinSetups, type Setup } from "../doctor/setup.ts";
import { loadTerraform } from "../doctor/terraform/load-terraform.ts";
import { terraformSetup } from "../doctor/terraform/terraform-setup.ts";
import type { Unread } from "../doctor/unread.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { findServer } from "../run/open/find-server.ts";
import { loadPipeline } from "../run/open/load-pipeline.ts";
import { readLiveSetup } from "./doctor/live-setup.ts";
import { observedPipelineOf } from "./doctor/observed-pipeline.ts";
import { readProject, TERRAFORM_ON_DISK } from "./doctor/project-files.ts";

export type { Finding };

/** What to examine: a pipeline file, live queues, Terraform files or code; at least one of them. */
export interface ExamineOptions {
  /** A pipeline file. */
  readonly file?: string | undefined;
  readonly queues?: readonly string[] | undefined;
  /** A folder of Terraform files. */
  readonly terraform?: string | undefined;
  /** The folder whose code is read. Default: that of the pipeline file. */
  readonly code?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Folder of a cloud that may be running. Default: ".tidegate". */
  readonly data?: string | undefined;
}

/** What the doctor read and found. */
export interface Examination {
  readonly setup: Setup;
  readonly findings: readonly Finding[];
  /** What was read, in words. */
  readonly checked: readonly string[];
  /** What was not read: a report without findings says nothing about it. */
  readonly unread: readonly Unread[];
}

/** Reads settings and code, and runs the rules of the doctor on them. Changes nothing. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { file, queues = [], terraform } = options;
  const folder = options.code ?? (file === undefined ? undefined : dirname(file));
  if (folder === undefined && queues.length === 0 && terraform === undefined) {
    refuseConfig("nothing to check: name a pipeline file, a queue, Terraform or code");
  }
  const parts: Examined[] = [];
  const pipeline = file === undefined ? null : await loadPipeline(file);
  if (file !== undefined && pipeline !== null) parts.push(examinePipeline(pipeline, file));
  if (terraform !== undefined) parts.push(examineTerraform(terraform));
  if (folder !== undefined) parts.push(await examineCode(folder, terraform));
  if (queues.length > 0) parts.push(await examineLive(options, queues, pipeline));
  const stacks = parts.flatMap((part) => part.stacks ?? []);
  const functions = stacks.some(({ mappings }) => mappings.length > 0);
  const main = joinSetups([...parts.map((part) => part.setup), { ...EMPTY_SETUP, functions }]);
  const setups = [main, ...stacks];
  return {
    setup: joinSetups(setups),
    findings: withoutIgnored(diagnose(...setups), linesOf),
    checked: parts.map(({ checked }) => checked),
    unread: parts.flatMap(({ unread }) => unread),
  };
}

function linesOf(file: string): readonly string[] | null {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return null; // It was there a moment ago; its findings stay.
  }
}

interface Examined {
  readonly setup: Setup;
  /** Setups that have nothing to do with the others. */
  readonly stacks?: readonly Setup[];
  readonly checked: string;
  readonly unread: readonly Unread[];
}

function examinePipeline(pipeline: Pipeline, file: string): Examined {
  const setup = { ...EMPTY_SETUP, pipeline: observedPipelineOf(pipeline, file) };
  return { setup, checked: `pipeline ${pipeline.name}`, unread: [] };
}

/** The Terraform files of a folder and of the modules it calls. */
export function examineTerraform(folder: string): Examined {
  const { scopes, unread } = loadTerraform(folder, TERRAFORM_ON_DISK);
  const setup = terraformSetup(scopes);
  return { setup, checked: `Terraform in ${folder} (${counted(setup)})`, unread };
}

function counted({ queues, alarms = [] }: Setup): string {
  return `queues: ${queues.length}, alarms: ${alarms.length}`;
}

async function examineCode(folder: string, terraform: string | undefined): Promise<Examined> {
  const project = readProject(folder);
  const { templates } = project;
  const { readCode } = await import("../doctor/code/read-code.ts"); // Its parsers are large.
  const { patterns, stacks, unread } = readCode(project.code, project.documents);
  const read = templates.length === 0 ? null : await import("../doctor/template/read-templates.ts");
  const reading = read?.readTemplates(templates) ?? { stacks: [], unread: [] };
  const beside = terraformBeside(project.terraform, terraform);
  return {
    setup: { ...EMPTY_SETUP, code: patterns },
    stacks: [...stacks, ...reading.stacks],
    checked: `code in ${folder} (files: ${project.code.length}, templates: ${reading.stacks.length})`,
    unread: [...project.unread, ...unread, ...reading.unread, ...beside],
  };
}

/** Folders with Terraform files beside the code that are not those of --terraform. */
function terraformBeside(folders: readonly string[], named = ""): readonly Unread[] {
  const given = resolve(named);
  return folders.flatMap((folder): readonly Unread[] => {
    if (named !== "" && `${resolve(folder)}${sep}`.startsWith(`${given}${sep}`)) return [];
    const text = `${folder} has Terraform files; name it with --terraform`;
    return [{ reason: "unnamed", text }];
  });
}

async function examineLive(
  location: ExamineOptions,
  queues: readonly string[],
  pipeline: Pipeline | null,
): Promise<Examined> {
  const bucket = pipeline?.source.bucket ?? null;
  const { endpoint, region, data } = location;
  const server = await findServer({ endpoint, region, data });
  const { setup, notes } = await readLiveSetup({ queues, bucket, server });
  const names = setup.queues.map(({ name }) => name).join(", ");
  const unread = notes.map((text) => ({ reason: "refused" as const, text }));
  return { setup, checked: `live queues ${names}`, unread };
}
