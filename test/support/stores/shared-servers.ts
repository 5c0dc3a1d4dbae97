// Shared servers: one DynamoDB Local for the test files of a run, and bundles of the processes that
// they start. The start of the server costs as much as most of these files, and a server that is
// warm answers with less work.
//   H1. It starts when the first file asks for it, so that other runs do not pay for it. So is a
//       bundle built.
//   H2. Vitest's own process holds it: a worker that crashes leaves nothing behind, and it stops
//       after the last test of the run.
//   H3. Files share the server, but no tables (database-servers.ts).

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { startDynamoLocal } from "../../../scripts/dynamodb-local.ts";
import type { LocalServer, Missing } from "../../../scripts/local-server.ts";
import { reasonOf } from "../../../src/core/errors.ts";
import { bundleProcess } from "../bundle/bundle-process.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A URL that answers with the endpoint of DynamoDB Local, or why it is missing. */
    readonly dynamoDesk: string;
    /** A URL that answers with the path of a bundle (bundled.ts). */
    readonly bundleDesk: string;
  }
}

/** Vitest calls it before the first test, and what it returns after the last one. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  let started: Promise<LocalServer | Missing> | null = null;
  const bundles = new Map<string, Promise<unknown>>();
  const bundleOf = (file: string): Promise<unknown> => {
    const answer = (path: string) => ({ path });
    const bundle =
      bundles.get(file) ??
      bundleProcess(file).then(answer, (error: unknown) => ({ error: reasonOf(error) }));
    bundles.set(file, bundle);
    return bundle;
  };
  const desk = createServer(async ({ url = "/" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://desk");
    if (pathname === "/dynamo") started ??= startDynamoLocal(); // H1
    const answer = pathname === "/dynamo" ? started : bundleOf(searchParams.get("file") ?? "");
    response.end(JSON.stringify(await answer));
  });
  await new Promise<void>((resolve) => desk.listen(0, "127.0.0.1", resolve));
  desk.unref();
  const base = `http://127.0.0.1:${(desk.address() as AddressInfo).port}`;
  provide("dynamoDesk", `${base}/dynamo`);
  provide("bundleDesk", `${base}/bundle`);
  return async () => {
    desk.close();
    const server = await started;
    if (server !== null && "stop" in server) server.stop(); // H2
  };
}
