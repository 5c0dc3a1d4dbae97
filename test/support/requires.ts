// Requires: declares what tests need in addition to npm packages.
//   R1. A missing part skips the tests that need it, with a note on what is missing and how to
//       install it; scripts/test.ts prints each note once.
//   R2. With TIDEGATE_REQUIRE_ALL=1 (set by .ci/run) a missing part fails those tests instead.
//   R3. A part is searched for in all its usual locations, and the first that works is used:
//       another version earlier on the PATH does not hide the required one.
//   R4. A part that this machine cannot have, whatever is installed, is skipped in CI as well.

import { spawnSync } from "node:child_process";
import { beforeEach, test } from "vitest";
import { patienceMs } from "./patience.ts";

export type Part =
  | "aws-cli"
  | "boto3"
  | "cc"
  | "chromium"
  | "ext4"
  | "java"
  | "pid-namespace"
  | "postgres"
  | "promtool"
  | "script"
  | "terraform";

/** How to find a part: the commands to try, and the output that identifies it. */
export interface Probe {
  readonly commands: readonly string[];
  readonly args: readonly string[];
  /** Matched against the command's whole output. */
  readonly answer: RegExp;
  /** A shell script that fails on machines that cannot have the part (R4). Default: all can. */
  readonly ofMachine?: string;
  /** Ends the sentence "... is missing: ". */
  readonly advice: string;
}

/** Runs a command; undefined if it could not be run or failed. */
export type Run = (command: string, args: readonly string[]) => string | undefined;

/** Flags of unshare that make a command process 1 of its own. */
export const PID_NAMESPACE: readonly string[] = [
  ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
  "--pid",
  "--fork",
  "--mount-proc",
  "--kill-child",
];

const PROBE_MS_MAX = patienceMs(30_000);
const POSTGRES_PATHS = ["18", "17", "16", "15"].map(
  (version) => `/usr/lib/postgresql/${version}/bin/postgres`,
);

const NAMESPACE_PROBE: Probe = {
  commands: ["unshare", "/usr/bin/unshare"],
  args: [...PID_NAMESPACE, "sh", "-c", "echo process $$"],
  answer: /^process 1$/,
  advice: "run as root, or allow user namespaces, with unshare of util-linux",
};

/** Mounts a small ext4 on a loop device, and removes it. */
const TRY_EXT4 = `set -e
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
truncate -s 8M "$folder/image"; mkdir "$folder/disk"
mkfs.ext4 -q "$folder/image"; mount -o loop "$folder/image" "$folder/disk"
umount "$folder/disk"; echo "ext4 is mounted"`;

/** Attaches a loop device. The kernel, or the container, may refuse that even to root. */
const TRY_LOOP = `set -e
image=$(mktemp); trap 'rm -f "$image"' EXIT
truncate -s 1M "$image"; losetup --detach "$(losetup --find --show "$image")"`;

const EXT4: Probe = {
  commands: ["/bin/sh"],
  args: ["-c", TRY_EXT4],
  answer: /^ext4 is mounted$/m,
  ofMachine: TRY_LOOP,
  advice: "be root where loop devices can be mounted (Debian: e2fsprogs mount)",
};

const JAVA: Probe = {
  commands: ["java", "/usr/bin/java"],
  args: ["-version"],
  answer: /version "/,
  advice: "install a Java runtime (Debian: default-jre-headless)",
};

/** How to find each part on this machine; `env` holds the environment variables. */
export function probes(env: Readonly<Record<string, string | undefined>>): Record<Part, Probe> {
  const chosen = (name: string) => (env[name] === undefined ? [] : [env[name]]);
  return {
    "aws-cli": {
      commands: [...chosen("TIDEGATE_AWS_CLI"), "aws", "/usr/bin/aws", "/usr/local/bin/aws"],
      args: ["--version"],
      answer: /^aws-cli\/2\./,
      advice: "install AWS CLI v2 (Debian: awscli), or set TIDEGATE_AWS_CLI to its path",
    },
    boto3: {
      commands: [...chosen("TIDEGATE_PYTHON"), "python3", "/usr/bin/python3"],
      args: ["-c", "import boto3; print('boto3', boto3.__version__)"],
      answer: /^boto3 \d/,
      advice: "install boto3 (Debian: python3-boto3), or set TIDEGATE_PYTHON to a Python with it",
    },
    cc: {
      commands: [...chosen("TIDEGATE_CC"), "cc", "gcc", "clang"],
      args: ["-dumpmachine"],
      answer: /linux/, // The library that it builds preloads into Linux processes only.
      ofMachine: '[ "$(uname)" = Linux ]',
      advice:
        "install a C compiler on Linux (Debian: gcc libc6-dev), or set TIDEGATE_CC to its path",
    },
    ext4: EXT4,
    java: JAVA,
    chromium: {
      commands: [...chosen("TIDEGATE_CHROMIUM"), "chromium", "/usr/bin/chromium", "google-chrome"],
      args: ["--version"],
      answer: /Chrom(e|ium) \d/,
      advice: "install Chromium (Debian: chromium), or set TIDEGATE_CHROMIUM to its path",
    },
    "pid-namespace": NAMESPACE_PROBE,
    postgres: {
      commands: [...chosen("TIDEGATE_POSTGRES"), "postgres", ...POSTGRES_PATHS],
      args: ["--version"],
      answer: /^postgres \(PostgreSQL\) \d/,
      advice: "install PostgreSQL (Debian: postgresql), or set TIDEGATE_POSTGRES to its server",
    },
    promtool: {
      commands: [...chosen("TIDEGATE_PROMTOOL"), "promtool", "/usr/bin/promtool"],
      args: ["--version"],
      answer: /^promtool, version \d/,
      advice: "install Prometheus (Debian: prometheus), or set TIDEGATE_PROMTOOL to its promtool",
    },
    script: {
      commands: [...chosen("TIDEGATE_SCRIPT"), "script", "/usr/bin/script"],
      args: ["--version"],
      answer: /util-linux/, // Others of that name have other flags.
      advice: "install script of util-linux (Debian: bsdutils), or set TIDEGATE_SCRIPT to its path",
    },
    terraform: {
      commands: [...chosen("TIDEGATE_TERRAFORM"), "terraform", "tofu", "/usr/local/bin/terraform"],
      args: ["version"],
      answer: /(Terraform|OpenTofu) v1\.\d/,
      advice: "install Terraform or OpenTofu 1.5 or later, or set TIDEGATE_TERRAFORM to its path",
    },
  };
}

/** The first command with the expected output (R3), or undefined if the part is missing. */
export function findPart(probe: Probe, run: Run): string | undefined {
  return probe.commands.find((command) => {
    const answer = run(command, probe.args);
    return answer !== undefined && probe.answer.test(answer);
  });
}

export type Verdict =
  | { readonly kind: "run" }
  | { readonly kind: "skip"; readonly note: string }
  | { readonly kind: "fail"; readonly note: string };

/** What becomes of tests that need a part (R1, R2, R4). */
export function judge(
  part: Part,
  command: string | undefined,
  requireAll: boolean,
  run: Run = runCommand,
): Verdict {
  if (command !== undefined) return { kind: "run" };
  const { advice, ofMachine } = probes({})[part];
  const note = `${part} is missing: ${advice}`;
  const isPossible = () =>
    ofMachine === undefined || run("/bin/sh", ["-c", ofMachine]) !== undefined;
  return { kind: requireAll && isPossible() ? "fail" : "skip", note };
}

const commandByPart = new Map<Part, string | undefined>();

/**
 * Skips the tests of the enclosing file or `describe` unless every part is installed. Returns the
 * command of each part; use it only inside a test, not in `beforeAll`.
 */
export function requirePart<P extends Part>(...parts: P[]): Record<P, string> {
  const requireAll = process.env.TIDEGATE_REQUIRE_ALL === "1";
  const commands = {} as Record<P, string>;
  for (const part of parts) {
    if (!commandByPart.has(part))
      commandByPart.set(part, findPart(probes(process.env)[part], runCommand));
    const command = commandByPart.get(part);
    commands[part] = command ?? `${part}-is-missing`;
    const verdict = judge(part, command, requireAll);
    if (verdict.kind === "run") continue;
    beforeEach((context) => {
      if (verdict.kind === "fail") throw new Error(verdict.note);
      context.skip(verdict.note);
    });
  }
  return commands;
}

/**
 * Adds one test that reports a server which could not be started, by the same rules (R1, R2). The
 * caller leaves out the tests that need the server.
 */
export function reportMissing(server: string, reason: string): void {
  const note = `${server} is missing: ${reason}`;
  test(`${server} is available`, (context) => {
    if (process.env.TIDEGATE_REQUIRE_ALL === "1") throw new Error(note);
    context.skip(note);
  });
}

function runCommand(command: string, args: readonly string[]): string | undefined {
  const run = spawnSync(command, args, { encoding: "utf8", timeout: PROBE_MS_MAX });
  return run.status === 0 ? `${run.stdout}${run.stderr}`.trim() : undefined;
}
