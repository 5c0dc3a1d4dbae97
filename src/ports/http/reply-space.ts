// ReplySpace: whether there is memory for further replies. The listener counts what clients have
// not read yet; the engine delivers no messages while it is full.

export interface ReplySpace {
  readonly isFull: boolean;
  /** Called when the space is no longer full; the engine sets it. */
  onSpace: () => void;
}
