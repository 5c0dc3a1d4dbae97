// Stop signals: the first asks the program to end, the second ends it.

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const SIGNAL_EXIT_BASE = 128;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** Resolves upon the first signal; from then on, another one exits at once. */
export function stopSignal(): Promise<(typeof SIGNALS)[number]> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (stopping) process.exit(SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[signal]);
        stopping = true;
        resolve(signal);
      });
    }
  });
}
