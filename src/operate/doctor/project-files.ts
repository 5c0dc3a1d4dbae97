// Project files: the sources, documents and Terraform files of a folder, for the doctor.
//   J1. Dependencies, builds and hidden folders are skipped, except for workflows.
//   J2. The number and the size of files are limited, so that a check takes seconds. What is left
//       out is counted, and so is what cannot be read (N1 of unread.ts).

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { reasonOf, refuseConfig } from "../../core/errors.ts";
import type { CodeFile } from "../../doctor/code/code-context.ts";
import type { TerraformSource } from "../../doctor/terraform/load-terraform.ts";
import type { Unread } from "../../doctor/unread.ts";

const SKIPPED = new Set(["node_modules", "dist", "build", "out", "coverage", "vendor", "cdk.out"]);
const CODE = /(?<!\.d)\.([mc]?[jt]s|[jt]sx|py)$/;
const TEMPLATE = /\.(ya?ml|json|template)$/;
const NAMES_MESSAGES = /AWS::(SQS|SNS|Pipes|Lambda::EventSource|Serverless::Function)|^functions:/m;
const DOCUMENT = /\.(md|ya?ml)$|(^|\/)package\.json$/;
/** Languages that the doctor does not read: a file in them counts if it names queues. */
const OTHER_LANGUAGE = /\.(go|java|kt|scala|cs|rb|php|rs)$/;
const NAMES_QUEUES = /\bsqs\b|SQSClient|AmazonSQS/i;
const FILES_MAX = 20_000;
const FILE_BYTES_MAX = 1_024 * 1_024;
const FOLDERS_DEEP_MAX = 24;

export interface ProjectFiles {
  readonly code: readonly CodeFile[];
  readonly documents: readonly CodeFile[];
  /** Files that may be templates of CloudFormation, SAM or the Serverless Framework. */
  readonly templates: readonly CodeFile[];
  /** Folders with Terraform files. */
  readonly terraform: readonly string[];
  readonly unread: readonly Unread[];
}

/** The files of `folder`; throws TG_CONFIG_INVALID if it is not a folder. */
export function readProject(folder: string): ProjectFiles {
  const walk = new ProjectWalk();
  if (!existsSync(folder)) refuseConfig(`the folder ${folder} does not exist`);
  if (!isFolder(folder)) refuseConfig(`${folder} is not a folder`);
  walk.read(folder, 0);
  return walk.result();
}

class ProjectWalk {
  readonly #code: CodeFile[] = [];
  readonly #documents: CodeFile[] = [];
  readonly #templates: CodeFile[] = [];
  readonly #terraform = new Set<string>();
  readonly #unread: Unread[] = [];
  #beyond = 0;

  result(): ProjectFiles {
    const limit = `the doctor reads ${FILES_MAX} files at most; name a smaller --code`;
    const more: readonly Unread[] =
      this.#beyond === 0 ? [] : [{ reason: "limit", text: limit, count: this.#beyond }];
    return {
      code: this.#code,
      documents: this.#documents,
      templates: this.#templates,
      terraform: [...this.#terraform],
      unread: [...this.#unread, ...more],
    };
  }

  read(folder: string, deep: number): void {
    const entries = this.#attempt(folder, () => entriesOf(folder)) ?? [];
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isFile()) this.#file(path);
      if (!entry.isDirectory() || isSkipped(entry.name)) continue; // J1
      if (deep < FOLDERS_DEEP_MAX) this.read(path, deep + 1);
      else {
        const text = `${shown(path)} is more than ${FOLDERS_DEEP_MAX} folders deep`;
        this.#unread.push({ reason: "limit", text }); // J2
      }
    }
  }

  #file(path: string): void {
    const file = shown(path);
    if (file.endsWith(".tf")) this.#terraform.add(join(path, ".."));
    const list = CODE.test(file) ? this.#code : DOCUMENT.test(file) ? this.#documents : null;
    const other = OTHER_LANGUAGE.test(file);
    const template = TEMPLATE.test(file);
    if (list === null && !other && !template) return;
    if (this.#code.length + this.#documents.length >= FILES_MAX) {
      this.#beyond += 1; // J2
      return;
    }
    const size = this.#attempt(file, () => statSync(path).size);
    if (size === null) return;
    if (size > FILE_BYTES_MAX && list === null) return; // Data, and not a template.
    if (size > FILE_BYTES_MAX) {
      const text = `${file} is larger than ${FILE_BYTES_MAX / 1_024} KB`;
      this.#unread.push({ reason: "large", text }); // J2
      return;
    }
    const text = this.#attempt(file, () => read(path));
    if (text === null) return;
    list?.push({ file, text });
    if (template && NAMES_MESSAGES.test(text)) this.#templates.push({ file, text });
    if (other && NAMES_QUEUES.test(text)) {
      const language = `${file} uses queues in a language that the doctor does not read`;
      this.#unread.push({ reason: "format", text: language });
    }
  }

  /** The result of `work`; null if the file or folder cannot be read. */
  #attempt<T>(name: string, work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      const text = `${name} cannot be read: ${reasonOf(error)}`;
      this.#unread.push({ reason: "unreadable", text });
      return null;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isSkipped(name: string): boolean {
  return SKIPPED.has(name) || (name.startsWith(".") && name !== ".github");
}

function entriesOf(folder: string) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.toSorted((one, two) => (one.name < two.name ? -1 : 1));
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

/** A path as the user would write it: relative to the current folder, with slashes. */
function shown(path: string): string {
  const short = relative("", path);
  return (short.startsWith("..") ? path : short).split(sep).join("/");
}

/** The Terraform files of folders on disk. */
export const TERRAFORM_ON_DISK: TerraformSource = {
  filesIn(folder) {
    if (!isFolder(folder)) return null;
    return entriesOf(folder)
      .filter((entry) => entry.isFile() && /\.tf(\.json)?$/.test(entry.name))
      .map(({ name }) => ({ file: shown(join(folder, name)), text: readable(join(folder, name)) }));
  },
  resolve: (folder, path) => join(folder, path),
};

/** The text of a file; a reason why it cannot be read ends the check with one sentence. */
function readable(path: string): string {
  try {
    return read(path);
  } catch (error) {
    return refuseConfig(`${shown(path)} cannot be read: ${reasonOf(error)}`);
  }
}
