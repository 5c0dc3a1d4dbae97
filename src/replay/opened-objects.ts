// Opened objects: an object source that opens an object once, if it was looked at before.
//   A1. Each opening is used once, and only for the same version and ETag, so it returns the same
//       bytes as a new one.
//   A2. An attempt that is repeated opens again: an object that is gone by then is reported.
//   A3. No more openings are kept than OPENED_MAX, and no more bytes than BUFFERED_BYTES_MAX;
//       without one, the object is opened again.

import { normalizeVersionId } from "../core/events/object-identity.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../ports/objects/object-source.ts";

/** An opening takes about a kilobyte. */
const OPENED_MAX = 50_000;
/** Bytes that small objects were opened with (O4 of object-source.ts). */
const BUFFERED_BYTES_MAX = 67_108_864;

export class OpenedObjects implements ObjectSource {
  readonly #objects: ObjectSource;
  readonly #lasting: AbortSignal;
  readonly #opened = new Map<string, OpenedObject>();
  #bufferedBytes = 0;

  /** Openings outlive the attempt that asked for them; `lasting` ends them. */
  constructor(objects: ObjectSource, lasting: AbortSignal) {
    this.#objects = objects;
    this.#lasting = lasting;
  }

  get bufferedBytesMax(): number {
    return this.#objects.bufferedBytesMax ?? -1;
  }

  async open(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject> {
    const name = nameOf(pin, pin.versionId, pin.etag);
    const opened = this.#opened.get(name);
    if (opened !== undefined) {
      this.#opened.delete(name); // A1, A2
      this.#bufferedBytes -= bufferedBy(opened);
      return opened;
    }
    return pin.etag === null ? await this.look(pin, signal) : await this.#objects.open(pin, signal);
  }

  /** Opens an object, and keeps the opening for the next `open` of what was found. */
  async look(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject> {
    signal.throwIfAborted();
    const hasSpace = this.#opened.size < OPENED_MAX && this.#bufferedBytes < BUFFERED_BYTES_MAX;
    const wanted = hasSpace ? pin : { ...pin, expectedBytes: null };
    const expected = wanted.expectedBytes ?? 0;
    const reserved = expected <= this.bufferedBytesMax ? expected : 0;
    this.#bufferedBytes += reserved; // Others that look at the same time see it (A3).
    let opened: OpenedObject;
    try {
      opened = await this.#objects.open(wanted, this.#lasting);
    } finally {
      this.#bufferedBytes -= reserved;
    }
    if (opened.kind === "opened" && this.#opened.size < OPENED_MAX) {
      const versionId = pin.versionId ?? normalizeVersionId(opened.versionId ?? "");
      const version = pin.etag === null ? versionId : pin.versionId;
      const name = nameOf(pin, version, opened.etag);
      this.#bufferedBytes += bufferedBy(opened) - bufferedBy(this.#opened.get(name));
      this.#opened.set(name, opened); // A3
    }
    return opened;
  }
}

function bufferedBy(opened: OpenedObject | undefined): number {
  return opened?.kind === "opened" ? (opened.bufferedBytes ?? 0) : 0;
}

function nameOf({ bucket, key }: ObjectPin, versionId: string | null, etag: string | null): string {
  return JSON.stringify([bucket, key, versionId, etag]);
}
