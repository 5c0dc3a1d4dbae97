// EffectLister: the objects that a sink has effects of, page by page.
//   F1. Keys come in the order of their UTF-8 bytes, each at most once. An object that the sink has
//       all the time is neither skipped nor listed twice.
//   F2. A list fails with TG_SINK_UNAVAILABLE; repeating it is safe.

import type { EpochMs } from "../core/units.ts";
import type { RecordKey } from "./record.ts";

/** What a sink has of an object: the record that wrote it last. */
export interface ListedEffect {
  readonly key: string;
  readonly recordKey: RecordKey;
  readonly eventTime: EpochMs;
  /** When the attempt that wrote it began, at the earliest: fences grow with time. */
  readonly fence: number;
}

export interface EffectPage {
  readonly effects: readonly ListedEffect[];
  /** Null after the last page. */
  readonly next: string | null;
}

export interface EffectLister {
  /** What it lists, for messages: "table orders". */
  readonly name: string;
  list(request: {
    readonly bucket: string;
    readonly prefix: string;
    /** `next` of the previous page; null for the first page. */
    readonly after: string | null;
  }): Promise<EffectPage>;
}
