import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { S3Client } from "@aws-sdk/client-s3";
import { afterEach, expect, test } from "vitest";
import { createS3ObjectSource } from "../../src/aws/s3-object-source.ts";
import type { Cloud } from "../../src/cloud/start-cloud.ts";
import { describeObjectSource, s3ClientOf } from "./object-source.ts";

const clients: S3Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
/** With two connections, a transfer that was not ended would soon hold up all others. */
function sourceOf(cloud: Cloud) {
  const client = s3ClientOf(cloud, 2);
  clients.push(client);
  return createS3ObjectSource({ client });
}

describeObjectSource({ name: "through the AWS SDK", open: sourceOf });

test("what S3 forbids is told as forbidden, since only the caller can judge it", async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(403, { "content-type": "application/xml" });
    const error = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    response.end(request.method === "HEAD" ? "" : error);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const source = sourceOf({ endpoint: `http://127.0.0.1:${port}` } as Cloud);
  const pin = { bucket: "b", key: "k", versionId: null, etag: null };
  expect(await source.open(pin, new AbortController().signal)).toEqual({
    kind: "forbidden",
    reason: "AccessDenied: Access Denied",
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
