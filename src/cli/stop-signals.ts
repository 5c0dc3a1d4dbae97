// Stop signals: the first asks the program to end, the second ends it. A terminal that is closed
// asks as well.

const SIGNAL_EXIT_BASE = 128;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

type StopSignal = keyof typeof SIGNAL_NUMBERS;

/** Resolves upon the first signal; from then on, another one exits at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const [signal, number] of Object.entries(SIGNAL_NUMBERS) as [StopSignal, number][]) {
      process.on(signal, () => {
        if (stopping) process.exit(SIGNAL_EXIT_BASE + number);
        stopping = true;
        resolve(signal);
      });
    }
  });
}
