// Downloads world: the example's server and cloud, a proxy before the cloud that can kill a process
// at a request, and the example's commands as processes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { GetObjectCommand, ListObjectVersionsCommand, S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createDownloadServer } from "../../examples/downloads/server.ts";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import { type CommandRun, endOf, startCommand } from "./command-process.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLE = join(ROOT, "examples/downloads");
const PIPELINE = join(ROOT, "examples/downloads/pipeline.ts");
const POLLER = join(ROOT, "examples/downloads/poller.ts");
export const QUEUE = "data-download-queue.fifo";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };

/** The request at which a process dies: before the cloud gets it, or after, with the reply lost. */
export interface KillPoint {
  readonly request: "PutObject" | "SendMessageBatch" | "DeleteMessageBatch" | "download";
  readonly phase: "before" | "after";
}

export interface DownloadsWorld extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly database: string;
  /** Runs a command of tidegate to its end. */
  tidegate(...words: readonly string[]): Promise<{ code: number | null; out: string; err: string }>;
  /** Runs the poller; with a point, until it is killed there. */
  poll(batch: string, point?: KillPoint): Promise<{ code: number | null; out: string }>;
  /** Runs the pipeline until its queue is empty; with a point, until it is killed there. */
  consume(point?: KillPoint): Promise<void>;
  /** The versions of every object in the bucket, by key. */
  versions(): Promise<Record<string, number>>;
  read(key: string): Promise<string>;
}

/** Kills a process at one of its requests. */
class Trap {
  #armed: { readonly point: KillPoint; readonly kill: () => void } | null = null;

  arm(point: KillPoint | undefined, kill: () => void): void {
    this.#armed = point === undefined ? null : { point, kill };
  }

  /** Whether the request is the one at which the process dies; kills it. */
  strikes(request: string, phase: KillPoint["phase"]): boolean {
    const { point, kill } = this.#armed ?? {};
    if (point?.request !== request || point.phase !== phase) return false;
    kill?.();
    this.#armed = null;
    return true;
  }
}

async function startServers(trap: Trap) {
  const { $schema: _, ...setup } = JSON.parse(readFileSync(join(EXAMPLE, "cloud.json"), "utf8"));
  const cloud = await startCloud({ memory: true, setup });
  const files = await listening(createDownloadServer(() => trap.strikes("download", "before")));
  const proxy = await listening(
    createServer((...pair) => void forward(cloud.endpoint, pair, trap)),
  );
  const close = async () => {
    for (const { server } of [files, proxy]) {
      server.closeAllConnections();
      server.close();
    }
    await cloud.close();
  };
  return { cloud, files: files.origin, proxy: proxy.origin, close };
}

/** The example's commands as processes in a folder; they die with `close`. */
function createProcesses(
  folder: string,
  database: string,
  servers: { files: string; proxy: string },
  trap: Trap,
) {
  const env = {
    AWS_ENDPOINT_URL: servers.proxy,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "any",
    AWS_SECRET_ACCESS_KEY: "any",
    DOWNLOADS_URL: servers.files,
    DOWNLOADS_DB: database,
    DOWNLOADS_VISIBILITY_MS: "3000",
  };
  const children = new Set<ChildProcess>();
  const kill = (child: ChildProcess) => void child.kill("SIGKILL");
  return {
    tidegate: (...words: readonly string[]) => endOf(startCommand(words, { env, cwd: folder })),
    async poll(batch: string, point?: KillPoint) {
      const args = ["--conditions=tidegate-source", POLLER, batch];
      const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } });
      children.add(child);
      let out = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk) => {
          out += chunk;
        });
      }
      trap.arm(point, () => kill(child));
      const [code] = await once(child, "close");
      return { code, out };
    },
    async consume(point?: KillPoint) {
      const ledger = ["--ledger", `sqlite:${database}`];
      const words = ["run", PIPELINE, ...ledger, "--metrics-port", "0", "--exit-when-idle"];
      const run: CommandRun = startCommand(words, { env, cwd: folder });
      children.add(run.child);
      trap.arm(point, () => kill(run.child));
      const { code, signal } = await run.ended;
      if (point === undefined ? code === 0 : signal === "SIGKILL") return;
      throw new Error(`ended with ${code} ${signal}: ${run.printed.out}${run.printed.err}`);
    },
    close: () => children.forEach(kill),
  };
}

export async function createDownloadsWorld(folder: string): Promise<DownloadsWorld> {
  const trap = new Trap();
  const servers = await startServers(trap);
  const { cloud } = servers;
  const database = join(folder, "downloads.db");
  const { close, ...processes } = createProcesses(folder, database, servers, trap);
  const connection = { endpoint: cloud.endpoint, region: "us-east-1", credentials };
  const s3 = new S3Client({ ...connection, forcePathStyle: true });
  const sqs = new SQSClient(connection);
  return {
    cloud,
    s3,
    sqs,
    database,
    ...processes,
    async versions() {
      const command = new ListObjectVersionsCommand({ Bucket: "downloads" });
      const { Versions = [] } = await s3.send(command);
      const counts: Record<string, number> = {};
      for (const { Key = "" } of Versions) counts[Key] = (counts[Key] ?? 0) + 1;
      return counts;
    },
    async read(key) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: "downloads", Key: key }));
      return (await Body?.transformToString()) ?? "";
    },
    async [Symbol.asyncDispose]() {
      close();
      s3.destroy();
      sqs.destroy();
      await servers.close();
    },
  };
}

async function listening(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Passes a request on to the cloud, unless the process that sent it dies first. */
async function forward(
  endpoint: string,
  [request, response]: [IncomingMessage, ServerResponse],
  trap: Trap,
): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const action = headers["x-amz-target"];
  const name =
    typeof action === "string" ? action.split(".")[1] : method === "PUT" ? "PutObject" : "";
  const body = await buffer(request);
  if (trap.strikes(name ?? "", "before")) {
    response.destroy();
    return;
  }
  const sent = send(new URL(url, endpoint), { method, headers }, async (reply) => {
    const answer = await buffer(reply);
    if (trap.strikes(name ?? "", "after")) {
      response.destroy();
      return;
    }
    response.writeHead(reply.statusCode ?? 500, reply.headers).end(answer);
  });
  sent.on("error", () => response.destroy());
  sent.end(body);
}
