import { expect, test } from "vitest";
import { bucketOfHost } from "./s3-address.ts";

test.each([
  ["files.s3.eu-west-1.amazonaws.com", "files"],
  ["files.s3.localhost:4566", "files"],
  ["files.localhost:4566", "files"],
  ["localhost:4566", null],
  ["s3.localhost", null],
  ["files.tidegate:4566", null],
])("without a base host, the bucket of %s is %s", (host, bucket) => {
  expect(bucketOfHost(host)).toBe(bucket);
});

test.each([
  ["files.tidegate:4566", "files"],
  ["my.files.tidegate", "my.files"],
  ["Files.Tidegate:4566", "files"],
  ["files.s3.tidegate:4566", "files"],
  ["tidegate:4566", null],
  ["s3.tidegate:4566", null],
  ["nottidegate:4566", null],
  ["files.localhost:4566", "files"],
])("with the base host tidegate, the bucket of %s is %s", (host, bucket) => {
  expect(bucketOfHost(host, "tidegate")).toBe(bucket);
});
