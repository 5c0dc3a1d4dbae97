// Machine traces: the repository contains no path or registry host of a developer's machine,
// because they do not exist elsewhere.

import type { TextFile, Violation } from "./source-file.ts";

const TRACES: readonly { readonly pattern: RegExp; readonly message: string }[] = [
  {
    pattern: /(?<![\w.@-])\/(home|root|Users|work|workspace)\/[\w.-]/,
    message: "a path of one machine",
  },
  { pattern: /\bC:\\Users\\/i, message: "a path of one machine" },
  {
    pattern: /\b(registry|npm|nexus|artifactory)\.[a-z0-9-]+\.[a-z]{2,}/,
    message: "a registry host",
  },
  { pattern: /"resolved": "https?:/, message: "a registry host" },
];

export function checkMachineTraces({ path, text }: TextFile): Violation[] {
  return text.split("\n").flatMap((content, index) =>
    TRACES.filter(({ pattern }) => pattern.test(content)).map(({ message }) => ({
      path,
      line: index + 1,
      message,
    })),
  );
}
