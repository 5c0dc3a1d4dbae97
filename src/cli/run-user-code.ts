// Judge: runs code that a user has written, to pass a verdict on it.
//   J1. Code that ends the process ends the judging, too, and would end it with its own exit code.
//       A check that never ran must not look like one that passed, least of all to a CI.
//   J2. Code that never ends is told of, and not waited for without end.

import { EXIT_FAILED } from "./command.ts";
import type { Output } from "./screen/output.ts";

/** Whatever `work` gives; if the process ends before it has, that is a failure (J1). */
export async function runUserCode<T>(
  file: string,
  out: Output,
  work: () => Promise<T>,
): Promise<T> {
  const onExit = () => {
    process.exitCode = EXIT_FAILED;
    out.note(`${file} ended the process before the checks were done.`);
  };
  process.once("exit", onExit);
  try {
    return await work();
  } finally {
    process.off("exit", onExit);
  }
}

/** A function that fails when the given one takes longer (J2). */
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
