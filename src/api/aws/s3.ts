// `tidegate/aws/s3`: objects in S3.

import { createS3ObjectWriter, type S3WriterOptions } from "../../aws/s3/s3-object-writer.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import { createObjectsSink, type ObjectsSinkOptions } from "../../sinks/objects/objects-sink.ts";

export { createS3ObjectSource } from "../../aws/s3/s3-object-source.ts";
export { createS3Objects } from "../../aws/s3/s3-objects.ts";
export type { ObjectSource } from "../../ports/objects/object-source.ts";
export type { Objects } from "../../ports/objects/objects.ts";
export type { EmittedObject, ObjectsSinkOptions } from "../../sinks/objects/objects-sink.ts";

/**
 * A sink that writes each object that a handler emits to a bucket, exactly once: by conditional
 * writes, stamped with record and fence.
 */
export function objects(options: ObjectsSinkOptions & S3WriterOptions): SinkFunction {
  const { client, ...rest } = options;
  return createObjectsSink(createS3ObjectWriter({ client }), rest);
}
