#!/usr/bin/env node
// The command `tidegate`. This file runs on any Node: it checks the version before it imports
// anything that an older one lacks, so that the user gets a message and not a stack trace.
//   M1. When a command has ended, a timer, a connection or a handler of the user that is still open
//       does not keep the process: it gets LEFT_OPEN_MS, and an abandoned handler nothing more.
//   M2. Linux ignores a signal to process 1 that has no listener. As process 1, the command listens
//       to the signals from its start, so that they end every command as they do elsewhere.

const NODE_MIN = [22, 18] as const;
/** How long something that is still open may keep the process after its command (M1). */
const LEFT_OPEN_MS = 1_000;

/** A slow reader of a pipe gets the whole output: what is written is called back in order. */
function endWhenWritten(): void {
  process.stdout.write("", () => process.stderr.write("", () => process.exit()));
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const tooOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);

if (tooOld) {
  const needed = NODE_MIN.join(".");
  console.error(`tidegate needs Node ${needed} or later; this is Node ${process.versions.node}`);
  process.exitCode = 1;
} else {
  const { endOnSignals } = await import("./stop-signals.ts");
  if (process.pid === 1) endOnSignals(); // M2
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
  const [{ runCli }, { EXIT_ABANDONED }] = await Promise.all([
    import("./run-cli.ts"),
    import("./command.ts"),
  ]);
  const code = await runCli(process.argv.slice(2));
  process.off("beforeExit", endedEarly);
  process.exitCode = code || process.exitCode;
  setTimeout(endWhenWritten, code === EXIT_ABANDONED ? 0 : LEFT_OPEN_MS).unref(); // M1
}
