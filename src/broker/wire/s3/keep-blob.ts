// Keeping a blob: bytes first, then the commit that references them.
//   K1. The blob is durable before the broker commits, so that every object has its bytes.
//   K2. If the commit is refused, or met a full disk, the blob is discarded. If it fails otherwise,
//       the broker may or may not have stored it, so the blob stays, and the sweep at the next
//       start decides.
//   K3. Blobs that the commit made obsolete are removed after it.

import { isDiskFull } from "../../../core/errors.ts";
import type { Result } from "../../../core/result.ts";
import type { StagedBlob } from "../../../ports/broker/blob-store.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";

export async function keepBlob<T extends { readonly dropped: readonly string[] }>(
  call: S3Call,
  blob: StagedBlob,
  commit: () => Promise<Result<T, S3Fault>>,
): Promise<Result<T, S3Fault>> {
  try {
    await blob.publish(); // K1
  } catch (error) {
    await blob.discard();
    throw error;
  }
  const outcome = await commit().catch(async (error: unknown) => {
    if (isDiskFull(error)) await blob.discard(); // K2
    throw error;
  });
  if (outcome.ok) {
    blob.keep();
    call.s3.blobs.remove(outcome.value.dropped); // K3
  } else {
    await blob.discard(); // K2
  }
  return outcome;
}
