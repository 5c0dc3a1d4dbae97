// Endpoint file: DATA/endpoint.json, by which commands find the embedded cloud that runs on a data
// folder.
//   E1. The process that runs the cloud writes the file once requests are answered, and removes it
//       on close. A crash leaves it behind.
//   E2. A cloud runs as long as the operating system holds the lock on its folder (folder-lock.ts).
//       The process id only decides if the lock cannot be looked at. The file of a process that
//       ended is ignored; NODE_DEBUG=tidegate shows it.
//   E3. A cloud also runs without the file: while it starts or closes, on a full disk, or if a
//       program started it. Nothing says where it answers, so commands then need --endpoint. A
//       command that has the folder to itself, such as compact, looks the same.
//   E4. A cloud that runs may be slow or answer 503: it is still the cloud. Only one that does not
//       answer at all, is another program, or has no file (E3), has a failure.

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { debuglog } from "node:util";

interface EndpointEntry {
  readonly endpoint: string;
  readonly pid: number;
}

/** The cloud that runs on a data folder. */
export type FolderCloud = { readonly data: string } & (
  | { readonly endpoint: string; readonly failure: null }
  | {
      readonly endpoint: string | null;
      /** Why it cannot be used, as a clause. */
      readonly failure: string;
    }
);

const FILE = "endpoint.json";
const ANSWER_MS_MAX = 10_000;
const NOT_SAID = `no ${FILE} says where a cloud answers`;
const debug = debuglog("tidegate");

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

/** The embedded cloud that runs on a data folder; null if none does (E2). */
export async function findFolderCloud(
  data: string,
  answerMsMax = ANSWER_MS_MAX,
): Promise<FolderCloud | null> {
  const entry = readEntry(data);
  if (!(await isRunning(data, entry))) {
    if (entry !== null) debug("%s of process %d, which ended", join(data, FILE), entry.pid);
    return null;
  }
  if (entry === null) return { data, endpoint: null, failure: NOT_SAID }; // E3
  const { endpoint, pid } = entry;
  const answer = await askCloud(endpoint, answerMsMax);
  if (answer === "cloud") return { data, endpoint, failure: null };
  return { data, endpoint, failure: `${endpoint} of process ${pid} ${answer.failure}` };
}

/** Whether the server at an endpoint is an embedded cloud; not if it does not answer. */
export async function isEmbeddedCloud(endpoint: string): Promise<boolean> {
  return (await askCloud(endpoint, ANSWER_MS_MAX)) === "cloud";
}

/** E4 */
async function askCloud(
  endpoint: string,
  answerMsMax: number,
): Promise<"cloud" | { readonly failure: string }> {
  const signal = AbortSignal.timeout(answerMsMax);
  try {
    const reply = await fetch(new URL("/_tidegate/health", endpoint), { signal });
    const isCloud = serviceOf(await reply.text()) === "tidegate";
    return isCloud ? "cloud" : { failure: `is another program, which answered ${reply.status}` };
  } catch (error) {
    if (signal.aborted) return { failure: `did not answer within ${answerMsMax / 1_000} s` };
    const { cause } = error as { cause?: { code?: string } };
    return { failure: `did not answer (${cause?.code ?? "no HTTP answer"})` };
  }
}

function serviceOf(text: string): unknown {
  try {
    return JSON.parse(text)?.service;
  } catch {
    return undefined;
  }
}

/** E2 */
async function isRunning(data: string, entry: EndpointEntry | null): Promise<boolean> {
  if (!existsSync(data)) return false;
  // Loaded here because a command without a data folder needs no SQLite for it.
  const { isFolderLocked } = await import("../../stores/sqlite/broker/folder-lock.ts");
  return isFolderLocked(data) ?? (entry !== null && isAlive(entry.pid));
}

function readEntry(data: string): EndpointEntry | null {
  try {
    const { endpoint, pid } = JSON.parse(readFileSync(join(data, FILE), "utf8"));
    const isEntry = URL.canParse(endpoint) && Number.isSafeInteger(pid);
    return isEntry ? { endpoint, pid } : null;
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
