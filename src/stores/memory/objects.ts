// Memory objects: buckets that live as long as their process, for tests.

import type { Objects } from "../../ports/objects/objects.ts";

/** Buckets that are lost with the process, for tests. Every bucket name exists. */
export function createMemoryObjects(): Objects {
  const objects = new Map<string, Uint8Array>();
  const nameOf = (bucket: string, key: string) => JSON.stringify([bucket, key]);
  return {
    async put(bucket, key, bytes) {
      objects.set(nameOf(bucket, key), bytes.slice());
    },
    get: async (bucket, key) => objects.get(nameOf(bucket, key))?.slice(),
  };
}
