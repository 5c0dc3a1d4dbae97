// Bound heap: keeps V8's heap close to what is in use, for commands that run for long. By default,
// V8 sizes its heap by the memory of the machine, and collects late while memory is free.
//   H1. The young generation stops growing at YOUNG_BYTES. Node 24 let it grow to 128 MiB, where
//       the rows of a large file fill it with garbage.
//   H2. The old generation is collected when it has doubled. V8 would collect it later.
//   H3. Neither is a limit for a handler: live data may take as much as V8 allows.
//   H4. V8 reads both flags at each collection, so they may change while it runs. Of the young
//       generation it reads the growth only, not the maximum, so the size has to be watched.
//   H5. With H1, the young generation of a thread that starts later would stay at 1 MiB, and be
//       collected a thousand times. Such a thread can get a size of its own, which it keeps.

import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

const YOUNG_BYTES = 33_554_432;
/** Holds a few pages of records, so that most of a collection is garbage. */
const THREAD_MIB = 8;
/** More often than the young generation doubles. */
const WATCH_MS = 100;

export function boundHeap(): void {
  setFlagsFromString("--heap-growing-percent=100"); // H2
  const watch = setInterval(() => {
    if (youngBytes() < YOUNG_BYTES) return;
    setFlagsFromString("--semi-space-growth-factor=1"); // H1, H4
    clearInterval(watch);
  }, WATCH_MS);
  watch.unref();
}

/** For a command that starts a thread of its own: its young generation is three times that (H5). */
export function boundThreadHeaps(): void {
  setFlagsFromString(`--min-semi-space-size=${THREAD_MIB}`);
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return young?.space_size ?? 0;
}
