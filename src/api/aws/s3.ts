// `tidegate/aws/s3`: objects in S3.

export { createS3ObjectSource } from "../../aws/s3/s3-object-source.ts";
export { createS3Objects } from "../../aws/s3/s3-objects.ts";
