// AWS CLI: Amazon's own command, pointed at a server of this process and at nothing else of the
// machine's: no settings, no credentials, no pager.

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

/** What the command ends with if the service refused. */
const EXIT_REFUSED = 254;

export type Options = Readonly<Record<string, string | object>>;

export interface AwsCli {
  /** What the words of a command printed; fails if it failed. */
  print(...words: string[]): Promise<string>;
  /** What an action answered, null if nothing; fails if it failed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever JSON was printed.
  call(service: string, action: string, options: Options): Promise<any>;
  /** What an action said when it was refused. */
  refusal(service: string, action: string, options: Options): Promise<string>;
}

/** Skips the tests of the enclosing file or `describe` where there is no AWS CLI. */
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
