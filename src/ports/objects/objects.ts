// Objects: the bucket operations that a claim check needs.
//   O1. `put` of the same bytes under the same key may be repeated; it is durable when it resolves.

/** Stores payloads that are too large for a message. */
export interface Objects {
  put(bucket: string, key: string, bytes: Uint8Array): Promise<void>;
  /** The bytes, or undefined if the object does not exist. */
  get(bucket: string, key: string): Promise<Uint8Array | undefined>;
}
