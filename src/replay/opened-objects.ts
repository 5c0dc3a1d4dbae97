// Opened objects: an object source that opens an object once, if it was looked at before.
//   A1. An opening is used once, and only for the version and the ETag that it has. Its bytes are
//       pinned, so they are never other bytes than a new opening would read.
//   A2. An attempt that is repeated opens again: an object that is gone by then is reported.
//   A3. No more openings are kept than OPENED_MAX, and no more bytes of them than HELD_BYTES_MAX;
//       without one, the object is opened again.

import { normalizeVersionId } from "../core/events/object-identity.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../ports/objects/object-source.ts";

/** An opening takes about a kilobyte. */
const OPENED_MAX = 50_000;
/** Bytes that small objects were opened with (O4 of object-source.ts). */
const HELD_BYTES_MAX = 67_108_864;

export class OpenedObjects implements ObjectSource {
  readonly #objects: ObjectSource;
  readonly #lasting: AbortSignal;
  readonly #opened = new Map<string, OpenedObject>();
  #heldBytes = 0;

  /** Openings outlive the attempt that asked for them; `lasting` ends them. */
  constructor(objects: ObjectSource, lasting: AbortSignal) {
    this.#objects = objects;
    this.#lasting = lasting;
  }

  get heldBytesMax(): number {
    return this.#objects.heldBytesMax ?? -1;
  }

  async open(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject> {
    const name = nameOf(pin, pin.versionId, pin.etag);
    const opened = this.#opened.get(name);
    if (opened !== undefined) {
      this.#opened.delete(name); // A1, A2
      this.#heldBytes -= heldBy(opened);
      return opened;
    }
    return pin.etag === null ? await this.look(pin, signal) : await this.#objects.open(pin, signal);
  }

  /** Opens an object, and keeps the opening for the next `open` of what was found. */
  async look(pin: ObjectPin, signal: AbortSignal): Promise<OpenedObject> {
    signal.throwIfAborted();
    const hasSpace = this.#opened.size < OPENED_MAX && this.#heldBytes < HELD_BYTES_MAX;
    const wanted = hasSpace ? pin : { ...pin, expectedBytes: null };
    const opened = await this.#objects.open(wanted, this.#lasting);
    if (opened.kind === "opened" && this.#opened.size < OPENED_MAX) {
      const versionId = pin.versionId ?? normalizeVersionId(opened.versionId ?? "");
      const version = pin.etag === null ? versionId : pin.versionId;
      const name = nameOf(pin, version, opened.etag);
      this.#heldBytes += heldBy(opened) - heldBy(this.#opened.get(name));
      this.#opened.set(name, opened); // A3
    }
    return opened;
  }
}

function heldBy(opened: OpenedObject | undefined): number {
  return opened?.kind === "opened" ? (opened.heldBytes ?? 0) : 0;
}

function nameOf({ bucket, key }: ObjectPin, versionId: string | null, etag: string | null): string {
  return JSON.stringify([bucket, key, versionId, etag]);
}
