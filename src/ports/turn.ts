// Turn: "once everything that has already arrived has been taken in". The broker's group commit
// waits for the end of a turn, so that all requests read in one turn share one disk sync.

export interface Turn {
  /** Runs `work` once, after the current turn of the event loop. */
  afterTurn(work: () => void): void;
}
