// Listed part: which part of a bucket an audit or a backfill lists. It is inside of what the
// pipeline takes in.

import { refuseConfig } from "../../core/errors.ts";
import type { Pipeline } from "./define-pipeline.ts";

/** Throws TG_CONFIG_INVALID for a part that is not of the pipeline. */
export function listedPartOf(
  { source }: Pipeline,
  named: { readonly bucket?: string | undefined; readonly prefix?: string | undefined },
): { readonly bucket: string; readonly prefix: string } {
  const { bucket = source.bucket, prefix = source.prefix } = named;
  if (source.contents !== "objects") {
    refuseConfig("the pipeline reads messages, not objects of a bucket; there is nothing to list");
  }
  if (bucket === null) refuseConfig("the pipeline names no bucket; set bucket");
  if (source.bucket !== null && bucket !== source.bucket) {
    refuseConfig(
      `the bucket ${bucket} is not the bucket of the pipeline, which is ${source.bucket}`,
    );
  }
  if (!prefix.startsWith(source.prefix)) {
    refuseConfig(`the prefix ${prefix} is outside of the pipeline's prefix ${source.prefix}`);
  }
  return { bucket, prefix };
}
