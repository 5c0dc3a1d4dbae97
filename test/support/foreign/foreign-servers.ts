// Foreign servers: other projects' implementations of AWS, started once per test file and stopped
// after its last test.

import { afterAll } from "vitest";
import { startElasticMq } from "../../../scripts/elasticmq.ts";
import type { LocalServer, Missing } from "../../../scripts/local-server.ts";
import { startMoto } from "../../../scripts/moto.ts";
import { reportMissing } from "../requires.ts";

export type ForeignServer = "ElasticMQ" | "moto";

const STARTS: Readonly<Record<ForeignServer, () => Promise<LocalServer | Missing>>> = {
  ElasticMQ: startElasticMq,
  moto: startMoto,
};

/** The endpoint of a server; null if it is not available, which one test of its own reports. */
export async function useForeignServer(name: ForeignServer): Promise<string | null> {
  const server = await STARTS[name]();
  if ("missing" in server) {
    reportMissing(name, server.missing);
    return null;
  }
  afterAll(() => server.stop());
  return server.endpoint;
}
