// Stop signals: the first one asks the program to end, the second one ends it. Closing the terminal
// counts as a signal.
//   S1. A process ends by a signal that nothing listens to, but not process 1, for which Linux
//       ignores it. `endOnSignals` gives process 1 that behaviour, until a command listens.

const SIGNAL_EXIT_BASE = 128;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

type StopSignal = keyof typeof SIGNAL_NUMBERS;

const SIGNALS = Object.keys(SIGNAL_NUMBERS) as StopSignal[];

/** Ends the process on any signal (S1). */
export function endOnSignals(): void {
  for (const signal of SIGNALS) process.on(signal, endBy);
}

/** Resolves on the first signal; a second one exits immediately. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const signal of SIGNALS) {
      process.off(signal, endBy); // S1
      process.on(signal, () => {
        if (stopping) endBy(signal);
        stopping = true;
        resolve(signal);
      });
    }
  });
}

/** Whether a process that exits with this code was ended by a signal. */
export function isSignalExit(code: number): boolean {
  return SIGNALS.some((signal) => code === exitCodeOf(signal));
}

function endBy(signal: NodeJS.Signals): never {
  process.exit(exitCodeOf(signal as StopSignal));
}

function exitCodeOf(signal: StopSignal): number {
  return SIGNAL_EXIT_BASE + SIGNAL_NUMBERS[signal];
}

/** Aborts on the first signal, so that a run ends after the current item. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  void stopSignal().then(() => controller.abort());
  return controller.signal;
}
