// AWS CLI: runs Amazon's command against a server of this process, without the machine's settings,
// credentials or pager.

import { expect } from "vitest";
import { type ChildResult, runChild } from "./child-process.ts";
import { REGION } from "./endpoint.ts";
import { requirePart } from "./requires.ts";

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_DEFAULT_REGION: REGION,
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_PAGER: "",
};

/** Exit code if the service refused the request. */
const EXIT_REFUSED = 254;

export type Options = Readonly<Record<string, string | object>>;

export interface AwsCli {
  /** Returns the output of a command; throws if it fails. */
  print(...words: string[]): Promise<string>;
  /** Returns the JSON output of an action, null if there is none; throws if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary JSON.
  call(service: string, action: string, options: Options): Promise<any>;
  /** Returns the error output of a refused action. */
  refusal(service: string, action: string, options: Options): Promise<string>;
}

/** Skips the tests of the enclosing file or `describe` if the AWS CLI is missing. */
export function useAwsCli(server: { readonly url: string }): AwsCli {
  const commands = requirePart("aws-cli");
  const run = (words: readonly string[]): Promise<ChildResult> =>
    runChild(commands["aws-cli"], ["--endpoint-url", server.url, ...words], ENVIRONMENT);
  const print = async (...words: string[]) => {
    const { exitCode, stdout, stderr } = await run(words);
    if (exitCode !== 0) throw new Error(`aws ${words.join(" ")} ended with ${exitCode}: ${stderr}`);
    return stdout;
  };
  return {
    print,
    async call(service, action, options) {
      const stdout = await print(...wordsOf(service, action, options));
      return stdout === "" ? null : JSON.parse(stdout);
    },
    async refusal(service, action, options) {
      const { exitCode, stderr } = await run(wordsOf(service, action, options));
      expect(exitCode).toBe(EXIT_REFUSED);
      return stderr.trim();
    },
  };
}

function wordsOf(service: string, action: string, options: Options): string[] {
  const flags = Object.entries(options).flatMap(([name, value]) => [
    `--${name}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return ["--output", "json", service, action, ...flags];
}
