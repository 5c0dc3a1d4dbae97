// moto: S3, SNS, SQS and DynamoDB in one Python process, in memory, from PyPI.
// moto-requirements.txt has only what these services need: the extra [server] would add two hundred
// megabytes for others.

import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type LocalServer, type Missing, serveAsScript, startServer } from "./local-server.ts";
import { fetchPythonEnvironment } from "./python-environment.ts";

const REQUIREMENTS = join(import.meta.dirname, "moto-requirements.txt");

function fetchMoto(): string | Missing {
  return fetchPythonEnvironment("moto", REQUIREMENTS);
}

/** Starts it on a free port, or returns why it is not available. */
export async function startMoto(): Promise<LocalServer | Missing> {
  const program = fetchMoto();
  if (typeof program !== "string") return program;
  const port = await freePort();
  const args = ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
  return startServer({ program, args, port });
}

if (import.meta.main) await serveAsScript("moto", fetchMoto, startMoto);
