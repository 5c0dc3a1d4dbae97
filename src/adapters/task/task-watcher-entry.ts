// Task watcher: a process that runs one command and notes how it ended. It outlives the dispatcher
// that started it, so that the next dispatcher can read the exit code.
//   W1. The end is noted after the command and its group have ended.
//   W2. Output goes to a file of at most LOG_BYTES_MAX; what follows is counted and discarded. A
//       full disk costs output, not the task.

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { durationMs } from "../../core/units.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { taskFileVariables } from "./attached-launcher.ts";
import { processIdOf } from "./process-id.ts";
import { runCommand } from "./run-command.ts";
import { claimTaskFolder, OUTPUT_FILE, readTaskFile, writeTaskFile } from "./task-folder.ts";

const LOG_BYTES_MAX = 67_108_864;

/** W2 */
function createBoundedLog(path: string): Writable {
  const file = createWriteStream(path, { flags: "a" });
  file.on("error", () => undefined);
  let written = 0;
  let dropped = 0;
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (written >= LOG_BYTES_MAX) {
        dropped += chunk.length;
        return done();
      }
      written += chunk.length;
      file.write(chunk, () => done()); // Called after an error, too: the command must not block.
    },
    final(done) {
      const note = dropped === 0 ? "" : `… and ${dropped} bytes more, which were discarded\n`;
      file.end(note, () => done());
    },
  });
}

async function watch(folder: string): Promise<void> {
  const watcher = processIdOf(process.pid);
  const spec = readTaskFile(folder, "spec.json");
  if (spec === null || !claimTaskFolder(folder, watcher)) return; // An error is its exit code.
  const log = createBoundedLog(join(folder, OUTPUT_FILE));
  const { words, killMs } = spec;
  const variables = { ...spec.variables, ...taskFileVariables(folder) };
  const output = { prefix: "", out: log, err: log };
  try {
    const options = { words, variables, killMs: durationMs(killMs), ...output };
    const running = await runCommand(systemClock, options);
    process.on("SIGTERM", () => running.stop());
    writeTaskFile(folder, "process.json", { watcher, command: processIdOf(running.pid) });
    const { leftovers: _, ...end } = await running.ended;
    await new Promise<void>((resolve) => log.end(resolve));
    writeTaskFile(folder, "end.json", end); // W1
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    writeTaskFile(folder, "end.json", { kind: "not-started", reason });
  }
}

await watch(process.argv[2] ?? "");
