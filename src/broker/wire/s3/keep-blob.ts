// Keeping a blob: bytes first, then the commit that speaks of them.
//   K1. The blob is durable before the broker is asked, so that no object is ever without its
//       bytes.
//   K2. Refused: the blob goes. Failed: nobody knows what reached the disk, so it stays, and the
//       sweep of the next start decides.
//   K3. What the commit has made needless goes after it.

import type { StagedBlob } from "../../../ports/blob-store.ts";
import type { S3Outcome } from "../../model/s3/s3-fault.ts";
import type { S3Call } from "./s3-call.ts";

export async function keepBlob<T extends { readonly dropped: readonly string[] }>(
  call: S3Call,
  blob: StagedBlob,
  commit: () => Promise<S3Outcome<T>>,
): Promise<S3Outcome<T>> {
  try {
    await blob.publish(); // K1
  } catch (error) {
    await blob.discard();
    throw error;
  }
  const outcome = await commit();
  if (outcome.ok) {
    blob.keep();
    call.s3.blobs.remove(outcome.value.dropped); // K3
  } else {
    await blob.discard(); // K2
  }
  return outcome;
}
