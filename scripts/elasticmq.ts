// ElasticMQ: SoftwareMill's SQS-compatible queues, in memory. Its limits are those of SQS, and its
// queue URLs contain the address that it listens on.

import { type LocalServer, type Missing, serveAsScript } from "./local-server.ts";
import { fetchJars, type MavenServer, startMavenServer } from "./maven-server.ts";

const ELASTICMQ: MavenServer = {
  folder: "elasticmq",
  group: "org.elasticmq",
  artifact: "elasticmq-server_2.13",
  version: "1.6.12",
  main: "org.elasticmq.server.Main",
  properties: (_, port) => ({
    "rest-sqs.bind-hostname": "127.0.0.1",
    "rest-sqs.bind-port": String(port),
    "rest-sqs.sqs-limits": "strict",
    "rest-stats.enabled": "false",
    "node-address.host": "127.0.0.1",
    "node-address.port": String(port),
    "aws.region": "us-east-1",
  }),
  args: () => [],
};

/** Starts it on a free port, or returns why it is not available. */
export function startElasticMq(): Promise<LocalServer | Missing> {
  return startMavenServer(ELASTICMQ);
}

if (import.meta.main) {
  await serveAsScript("ElasticMQ", () => fetchJars(ELASTICMQ), startElasticMq);
}
