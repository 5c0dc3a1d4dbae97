// Stop signals: the first one asks the program to end, the second one ends it. Closing the terminal
// counts as a signal.

const SIGNAL_EXIT_BASE = 128;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

type StopSignal = keyof typeof SIGNAL_NUMBERS;

/** Resolves on the first signal; a second one exits immediately. */
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

/** Aborts on the first signal, so that a run ends after the current item. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  void stopSignal().then(() => controller.abort());
  return controller.signal;
}
