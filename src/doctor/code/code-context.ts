// Code context: one file, as the recognisers of patterns see it.

import type { CodePattern } from "../setup.ts";
import type { Constants } from "./constants.ts";
import type { QueueCall } from "./queue-calls.ts";
import type { SyntaxTree, TreeNode } from "./syntax-tree.ts";

export interface CodeFile {
  /** As it is shown. */
  readonly file: string;
  readonly text: string;
}

/** One parsed file. */
export interface CodeContext {
  readonly file: string;
  readonly text: string;
  readonly tree: SyntaxTree;
  readonly constants: Constants;
  readonly calls: readonly QueueCall[];
  report(pattern: string, at: TreeNode, detail: string): CodePattern;
}
