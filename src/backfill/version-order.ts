// Version order: whether a past version is newer than what a pipeline applied last.
//   W1. The order of the versions of a key never changes: S3 adds versions in front, and removes
//       some. So the order that a listing found stays right, and no request is needed to ask again.
//   W2. An applied state that the listing does not have was written later, or its version was
//       removed. Then the bucket is asked about its current version, and a past version is not
//       applied: it may be older.

import type { ObjectEvent } from "../core/events/object-event.ts";
import { objectStateOf } from "../core/events/object-identity.ts";
import type { VersionOrder } from "../ingest/stages/confirm.ts";

export interface OrderedVersion {
  readonly event: ObjectEvent;
  readonly isLatest: boolean;
}

/** The versions of the keys of one page, and their order. */
export class ListedVersions {
  readonly #places = new Map<string, Map<string, number>>();
  readonly #latest = new Map<string, string>();

  /** Replaces all; the versions of a key come oldest first. */
  replace(versions: readonly OrderedVersion[]): void {
    this.#places.clear();
    this.#latest.clear();
    for (const { event, isLatest } of versions) {
      const { key } = event;
      const state = objectStateOf(event);
      if (state === null) continue;
      const places = this.#places.get(key) ?? new Map<string, number>();
      places.set(state, places.size);
      this.#places.set(key, places);
      if (isLatest) this.#latest.set(key, state);
    }
  }

  readonly isNewer: VersionOrder = (event, applied) => {
    const { key } = event;
    const places = this.#places.get(key);
    const own = places?.get(objectStateOf(event) ?? "");
    if (own === undefined) return null;
    if (applied.kind === "none") return true;
    const other = applied.state === null ? undefined : places?.get(applied.state);
    if (other !== undefined) return own > other; // W1
    return this.#latest.get(key) === objectStateOf(event) ? null : false; // W2
  };
}
