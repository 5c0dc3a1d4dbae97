// DynamoDB Local: AWS's own DynamoDB for tests, in memory.

import { type LocalServer, type Missing, serveAsScript } from "./local-server.ts";
import { fetchJars, type MavenServer, startMavenServer } from "./maven-server.ts";

const DYNAMODB_LOCAL: MavenServer = {
  folder: "dynamodb-local",
  group: "com.amazonaws",
  artifact: "DynamoDBLocal",
  version: "2.6.1",
  main: "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
  properties: (jars) => ({ "java.library.path": jars }),
  args: (port) => ["-inMemory", "-port", String(port)],
};

/** Starts it on a free port, or returns why it is not available. */
export function startDynamoLocal(): Promise<LocalServer | Missing> {
  return startMavenServer(DYNAMODB_LOCAL);
}

if (import.meta.main) {
  await serveAsScript("DynamoDB Local", () => fetchJars(DYNAMODB_LOCAL), startDynamoLocal);
}
