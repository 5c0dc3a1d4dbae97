// What `tidegate/aws/s3` exports: names only.

export { createS3ObjectSource } from "./s3-object-source.ts";
export { createS3Objects } from "./s3-objects.ts";
