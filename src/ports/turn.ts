// Turn: the end of the current turn of the event loop. The broker's group commit waits for it, so
// that all requests read in one turn share one disk sync.

/** Runs work at the end of a turn of the event loop, so that one write serves many calls. */
export interface Turn {
  /** Runs `work` once, after the current turn of the event loop. */
  afterTurn(work: () => void): void;
}
