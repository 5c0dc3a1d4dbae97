// Inert watermark: for records that were not just received, such as those of a backfill. Their
// event times are old, and must neither hold the pipeline's watermark back nor advance it.

import type { WatermarkTracker } from "./watermark-tracker.ts";

const nothing = () => undefined;

export const INERT_WATERMARK: WatermarkTracker = {
  restore: async () => undefined,
  decide: () => ({ lane: "live", watermark: null }),
  begin: nothing,
  observe: nothing,
  decided: nothing,
  end: nothing,
  polled: nothing,
  holds: nothing,
  value: () => null,
  sync: async () => undefined,
};
