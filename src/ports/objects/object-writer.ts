// ObjectWriter: conditional writes of whole objects, as S3 offers them.
//   W1. A write with a condition that does not hold changes nothing and answers "exists".
//   W2. A write that failed with TG_SINK_UNAVAILABLE may or may not have been done; repeating it
//       under the same condition is safe.
//   W3. S3 answers 409 if two conditional writes of one key meet. Nothing is known then: the answer
//       is "conflict", and the caller looks again.

/** Written only if the key has no object, or the object with that ETag. */
export type WriteCondition = { readonly absent: true } | { readonly etag: string };

export interface ObjectWrite {
  readonly bucket: string;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly contentType: string | null;
  /** Small texts that are stored with the object; names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly condition: WriteCondition;
}

export interface ExistingObject {
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface ObjectWriter {
  write(object: ObjectWrite, signal: AbortSignal): Promise<"stored" | "exists" | "conflict">;
  /** Undefined if the key has no object. A consistent read. */
  look(bucket: string, key: string, signal: AbortSignal): Promise<ExistingObject | undefined>;
}
