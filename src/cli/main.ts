#!/usr/bin/env node
// The command `tidegate`. This file runs on any Node: it imports nothing that an older one lacks
// before it has looked at the version, so that the reader gets a sentence and not a stack trace.

const NODE_MIN = [22, 13] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const tooOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);

if (tooOld) {
  const needed = NODE_MIN.join(".");
  console.error(`tidegate needs Node ${needed} or later; this is Node ${process.versions.node}.`);
  process.exitCode = 1;
} else {
  // Keeps compiled modules in the system's folder for temporary files: later starts are quicker.
  const { enableCompileCache } = await import("node:module");
  const { directory } = enableCompileCache();
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory; // For threads.
  // Nobody is left to be told that notes cannot be written, and a server must not end because the
  // disk with its log is full. A result that is lost is a failure, unless whoever read us has seen
  // enough, as in `tidegate why … | head`.
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = process.exitCode || 1; // It may be told after the command has ended.
    process.stderr.write(`What was to be printed is lost: ${error.message}.\n`);
  });
  const { runCli } = await import("./run-cli.ts");
  process.exitCode = (await runCli(process.argv.slice(2))) || process.exitCode;
}
