// Run user code: runs code that a check judges.
//   J1. Code that ends the process also ends the check, with its own exit code. A check that did
//       not finish must not look like one that passed, above all in CI. The exit code of a signal
//       stays: as process 1, the command ends itself by it (M2 of main.ts).
//   J2. Code that never ends is reported after a time limit.

import { EXIT_FAILED } from "./command.ts";
import type { Output } from "./screen/output.ts";
import { isSignalExit } from "./stop-signals.ts";

/** The result of `work`; if the process ends before it, the exit code is a failure (J1). */
export async function runUserCode<T>(
  file: string,
  out: Output,
  work: () => Promise<T>,
): Promise<T> {
  const onExit = (code: number) => {
    if (isSignalExit(code)) return;
    process.exitCode = EXIT_FAILED;
    out.note(`${file} ended the process before the checks were done`);
  };
  process.once("exit", onExit);
  try {
    return await work();
  } finally {
    process.off("exit", onExit);
  }
}

/** `call` with a time limit (J2). */
export function withLimit<A extends unknown[]>(
  call: (...given: A) => unknown,
  limitMs: number,
): (...given: A) => Promise<unknown> {
  return async (...given) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = `it did not end within ${limitMs / 1_000} seconds`;
      timer = setTimeout(() => reject(new Error(message)), limitMs);
    });
    try {
      return await Promise.race([call(...given), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
