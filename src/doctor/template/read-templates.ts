// Read templates: CloudFormation, SAM and serverless.yml files, one stack per file.
//   R1. Stacks are judged one by one: two of them may use the same names.

import type { CodeFile } from "../code/code-context.ts";
import type { Setup } from "../setup.ts";
import type { Unread } from "../unread.ts";
import { parseTemplate } from "./template-document.ts";
import { templateSetup } from "./template-setup.ts";

export interface TemplateReading {
  readonly stacks: readonly Setup[];
  readonly unread: readonly Unread[];
}

export function readTemplates(files: readonly CodeFile[]): TemplateReading {
  const stacks: Setup[] = [];
  const unread: Unread[] = [];
  for (const { file, text } of files) {
    const document = parseTemplate(file, text);
    if (document === null) continue;
    if ("problem" in document) {
      unread.push({ reason: "unparsed", text: `${file} does not parse: ${document.problem}` });
      continue;
    }
    const setup = templateSetup(document);
    if (setup !== null) stacks.push(setup);
  }
  return { stacks, unread };
}
