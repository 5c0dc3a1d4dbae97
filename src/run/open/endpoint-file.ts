// Endpoint file: DATA/endpoint.json, by which commands find the embedded cloud that runs on a data
// folder.
//   E1. The process that runs the cloud writes the file once requests are answered, and removes it
//       on close. A crash leaves it behind.
//   E2. So a reader trusts it only if the process is alive and the endpoint passes a health check.
//   E3. A cloud runs without the file, for example on a full disk; commands then need --endpoint.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface EndpointEntry {
  readonly endpoint: string;
  readonly pid: number;
}

const FILE = "endpoint.json";
const HEALTH_MS_MAX = 1_000;

/** Writes the file as a whole; the returned function removes it (E1). */
export function writeEndpointFile(data: string, endpoint: string): () => void {
  const path = join(data, FILE);
  const entry: EndpointEntry = { endpoint, pid: process.pid };
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(entry)}\n`);
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true }); // E3
  }
  return () => {
    // Another process may have taken over the folder, and its file stays.
    if (readEntry(data)?.pid === process.pid) rmSync(path, { force: true });
  };
}

/** The endpoint of the embedded cloud that runs on a data folder; null if there is none (E2). */
export async function findRunningCloud(data: string): Promise<string | null> {
  const entry = readEntry(data);
  if (entry === null || !isAlive(entry.pid)) return null;
  return (await isEmbeddedCloud(entry.endpoint)) ? entry.endpoint : null;
}

/** Whether the server at an endpoint is an embedded cloud. */
export async function isEmbeddedCloud(endpoint: string): Promise<boolean> {
  try {
    const url = new URL("/_tidegate/health", endpoint);
    const reply = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS_MAX) });
    const { service } = (await reply.json()) as { service?: unknown };
    return reply.ok && service === "tidegate";
  } catch {
    return false;
  }
}

function readEntry(data: string): EndpointEntry | null {
  try {
    const { endpoint, pid } = JSON.parse(readFileSync(join(data, FILE), "utf8"));
    return typeof endpoint === "string" && Number.isSafeInteger(pid) ? { endpoint, pid } : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM"; // Alive, and another user's.
  }
}
