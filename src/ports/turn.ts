// Turn: the end of the current turn of the event loop. The broker's group commit waits for it, so
// that all requests read in one turn share one disk sync.

export interface Turn {
  /** Runs `work` once, after the current turn of the event loop. */
  afterTurn(work: () => void): void;
}
