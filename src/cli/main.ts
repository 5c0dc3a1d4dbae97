#!/usr/bin/env node
// The command `tidegate`. This file runs on any Node: it checks the version before it imports
// anything that an older one lacks, so that the user gets a message and not a stack trace.

const NODE_MIN = [22, 18] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const tooOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);

if (tooOld) {
  const needed = NODE_MIN.join(".");
  console.error(`tidegate needs Node ${needed} or later; this is Node ${process.versions.node}`);
  process.exitCode = 1;
} else {
  await import("../platform/quiet-warnings.ts"); // Before anything that Node warns about.
  // Caches compiled modules in the folder for temporary files, which makes later starts faster.
  const { enableCompileCache } = await import("node:module");
  const { directory } = enableCompileCache();
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory; // For threads.
  // A failure to write notes cannot be reported anywhere, and a server must not end because the
  // disk of its log is full. A lost result is a failure, unless the reader has closed the pipe, as
  // in `tidegate why … | head`.
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = process.exitCode || 1; // The error may arrive after the command has ended.
    process.stderr.write(`cannot write to stdout, output is lost: ${error.message}\n`);
  });
  // A command that waits for something that can no longer happen must not end without a word.
  const endedEarly = () => {
    process.exitCode = 1;
    process.stderr.write("tidegate ended before the command was done; please report this bug\n");
  };
  process.once("beforeExit", endedEarly);
  const { runCli } = await import("./run-cli.ts");
  process.exitCode = (await runCli(process.argv.slice(2))) || process.exitCode;
  process.off("beforeExit", endedEarly);
}
