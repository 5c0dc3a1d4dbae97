// Servers: how each contestant is started, and the session of connections that sends to it.

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { present, unreachable } from "../../src/core/assert.ts";
import { type ChildServer, startChild } from "./child-server.ts";
import type { Target } from "./load.ts";
import type { ServerName } from "./options.ts";
import { openConnection, type RawConnection } from "./raw-connection.ts";
import { callSqs, snsRequest } from "./sqs-request.ts";

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const CLI = file("../../src/cli/main.ts");

/** Long enough for the slowest drain: nothing may be redelivered while it is being deleted. */
const VISIBILITY_SECONDS = 3_600;

/** The command line of a contestant; `folder` is used by durable ones. */
export function serverArgs(name: ServerName, folder: string, against = ""): string[] {
  switch (name) {
    case "floor":
      return [file("./floor-server.ts")];
    case "ours":
      return [CLI, "up", "--port", "0", "--data", folder];
    case "earlier":
      return [join(against, "src/cli/main.ts"), "up", "--port", "0", "--data", folder];
    case "ours-memory":
      return [CLI, "up", "--port", "0", "--memory"];
    case "fauxqs":
      return [file("./fauxqs-server.ts")];
    case "fauxqs-disk":
      return [file("./fauxqs-server.ts"), folder];
    default:
      return unreachable(name);
  }
}

/** The same contestants with memory reports. Those that need it get a larger heap. */
export function measuredArgs(name: ServerName, folder: string): string[] {
  const flags = ["--expose-gc", "--max-old-space-size=8192"];
  if (name === "ours") return [...flags, file("./server.ts"), folder];
  if (name === "ours-memory") return [...flags, file("./server.ts")];
  return [...flags, ...serverArgs(name, folder)];
}

/** A fresh data folder under `dir`. */
export const freshFolder = (dir: string): string => mkdtempSync(join(dir, "tidegate-bench-"));

export const removeFolder = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true });

/** A started server and its connections. */
export interface Session {
  readonly name: ServerName;
  readonly server: ChildServer;
  readonly connections: readonly RawConnection[];
  /** The first of them, for single requests. */
  readonly control: RawConnection;
  /** Reopens all connections: servers close those that idled during others' turns. */
  reconnect(): Promise<void>;
  end(): Promise<void>;
}

/** Starts a server by its arguments and connects to it. */
export async function openSession(
  name: ServerName,
  args: readonly string[],
  count: number,
): Promise<Session> {
  const server = await startChild({ args });
  let connections: RawConnection[] = [];
  const disconnect = (): void => {
    for (const connection of connections) connection.close();
    connections = [];
  };
  const session: Session = {
    name,
    server,
    get connections() {
      return connections;
    },
    get control() {
      return present(connections[0], "a session's first connection");
    },
    async reconnect() {
      disconnect();
      for (let index = 0; index < count; index += 1) {
        connections.push(await openConnection(server.port));
      }
    },
    async end() {
      disconnect();
      await server.stop();
    },
  };
  await session.reconnect();
  return session;
}

/** Creates a queue for a measurement. The floor server has no queues and accepts any name. */
export async function createQueue(session: Session, name: string): Promise<Target> {
  const { port } = session.server;
  const fifo = name.endsWith(".fifo");
  if (session.name === "floor") return { port, queueUrl: `http://127.0.0.1/${name}`, fifo };
  const Attributes = {
    VisibilityTimeout: `${VISIBILITY_SECONDS}`,
    ...(fifo ? { FifoQueue: "true" } : {}),
  };
  const input = { QueueName: name, Attributes };
  const { QueueUrl } = await callSqs(session.control, port, "CreateQueue", input);
  return { port, queueUrl: String(QueueUrl), fifo };
}

/** Creates a topic whose only subscriber is the queue; returns the topic's ARN. */
export async function subscribeQueue(session: Session, target: Target): Promise<string> {
  const name = target.queueUrl.slice(target.queueUrl.lastIndexOf("/") + 1);
  const regionAndAccount = "us-east-1:000000000000";
  const TopicArn = `arn:aws:sns:${regionAndAccount}:${name}`;
  const Endpoint = `arn:aws:sqs:${regionAndAccount}:${name}`;
  for (const parameters of [
    { Action: "CreateTopic", Name: name },
    { Action: "Subscribe", TopicArn, Protocol: "sqs", Endpoint },
  ]) {
    const reply = await session.control.call(snsRequest(target.port, { ...parameters }));
    if (reply?.status !== 200) throw new Error(`${parameters.Action}: ${reply?.status}`);
  }
  return TopicArn;
}

/** Throws unless the queue reports `count` visible messages. */
export async function expectWaiting(
  session: Session,
  target: Target,
  count: number,
): Promise<void> {
  const output = await callSqs(session.control, target.port, "GetQueueAttributes", {
    QueueUrl: target.queueUrl,
    AttributeNames: ["ApproximateNumberOfMessages"],
  });
  const { ApproximateNumberOfMessages: held } = output.Attributes as Record<string, string>;
  if (Number(held) === count) return;
  throw new Error(`${session.name} acknowledged ${count} messages and holds ${held}`);
}

export async function deleteQueue(session: Session, target: Target): Promise<void> {
  await callSqs(session.control, target.port, "DeleteQueue", { QueueUrl: target.queueUrl });
}
