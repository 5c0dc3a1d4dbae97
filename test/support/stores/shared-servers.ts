// Shared servers: one DynamoDB Local for the test files of a run. Its start costs as much as most
// of these files, and a server that is warm answers with less work.
//   H1. It starts when the first file asks for it, so that other runs do not pay for it.
//   H2. Vitest's own process holds it: a worker that crashes leaves nothing behind, and it stops
//       after the last test of the run.
//   H3. Files share the server, but no tables (database-servers.ts).

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { startDynamoLocal } from "../../../scripts/dynamodb-local.ts";
import type { LocalServer, Missing } from "../../../scripts/local-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A URL that answers with the endpoint of DynamoDB Local, or why it is missing. */
    readonly dynamoDesk: string;
  }
}

/** Vitest calls it before the first test, and what it returns after the last one. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  let started: Promise<LocalServer | Missing> | null = null;
  const desk = createServer(async (_request, response) => {
    started ??= startDynamoLocal(); // H1
    response.end(JSON.stringify(await started));
  });
  await new Promise<void>((resolve) => desk.listen(0, "127.0.0.1", resolve));
  desk.unref();
  provide("dynamoDesk", `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.close();
    const server = await started;
    if (server !== null && "stop" in server) server.stop(); // H2
  };
}
