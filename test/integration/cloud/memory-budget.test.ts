// Memory budget: one embedded cloud with the default configuration, as a process, under loads that
// multiply with connections or subscribers. Its peak memory stays below the number that
// docs/reference/limits.md states, and other clients are served meanwhile.
// `TIDEGATE_MEMORY_LOAD=full` multiplies the loads.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type CommandRun, useCommands } from "../../support/command-process.ts";
import { patienceMs } from "../../support/patience.ts";

const MIB = 1_024 * 1_024;
const isFull = process.env.TIDEGATE_MEMORY_LOAD === "full";
const BODIES = isFull ? 600 : 150;
const RECEIVERS = isFull ? 600 : 100;
const IDLE = 2_100;
const SUBSCRIBERS = 1_000;
const PUBLISHES = isFull ? 8 : 2;
const ROUND_TRIPS = 300;
const BODY_BYTES = 7_500_000;
const TEST_MS_MAX = patienceMs(600_000);

const LIMITS = readFileSync(new URL("../../../docs/reference/limits.md", import.meta.url), "utf8");
const BUDGET_BYTES = Number(/at most \*\*(\d+) MiB\*\*/.exec(LIMITS)?.[1]) * MIB;

// Only Linux reports the peak memory of another process.
const onLinux = test.runIf(process.platform === "linux");

const commands = useCommands("memory");
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Server {
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
}

async function startServer(...words: string[]): Promise<Server> {
  const data = join(commands.folder, "data");
  const run = commands.start(["up", "--json", "--port", "0", "--data", data, ...words]);
  await firstLine(run);
  return JSON.parse(run.printed.out) as Server;
}

async function firstLine(run: CommandRun): Promise<void> {
  await Promise.race([
    run.ended.then(() => Promise.reject(new Error(`ended early: ${run.printed.err}`))),
    new Promise<void>((resolve) => {
      run.child.stdout?.on("data", () => run.printed.out.includes("\n") && resolve());
    }),
  ]);
}

/** The most memory that the process has had so far. */
function peakBytes({ pid }: Server): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

function expectWithinBudget(server: Server): void {
  expect(BUDGET_BYTES).toBeGreaterThan(0);
  expect(peakBytes(server)).toBeLessThan(BUDGET_BYTES);
}

interface Message {
  readonly Body: string;
}

async function call(server: Server, action: string, input: object) {
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `AmazonSQS.${action}`,
  };
  const request = { method: "POST", headers, body: JSON.stringify(input) };
  const reply = await fetch(server.endpoint, request);
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${action}: ${reply.status} ${text}`);
  return JSON.parse(text || "{}") as Record<string, string> & { Messages?: Message[] };
}

async function createQueue(server: Server): Promise<string> {
  const { QueueUrl = "" } = await call(server, "CreateQueue", { QueueName: "q" });
  return QueueUrl;
}

/** Requests of other clients, each of which must succeed. */
async function roundTrips(server: Server, QueueUrl: string): Promise<void> {
  for (let count = 0; count < ROUND_TRIPS; count += 1) {
    await call(server, "SendMessage", { QueueUrl, MessageBody: `small ${count}` });
  }
}

async function dial({ port }: Server): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  sockets.push(socket);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

function headOf(server: Server, action: string, bytes: number): string {
  return (
    `POST / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-Amz-Target: AmazonSQS.${action}\r\n` +
    `Content-Type: application/x-amz-json-1.0\r\nContent-Length: ${bytes}\r\n\r\n`
  );
}

onLinux(
  `${BODIES} unfinished bodies stay within the memory budget, and a long one still gets in`,
  {
    timeout: TEST_MS_MAX,
  },
  async () => {
    const server = await startServer();
    const QueueUrl = await createQueue(server);
    const almostAll = Buffer.alloc(BODY_BYTES - 1, "a");
    const clients = await Promise.all(Array.from({ length: BODIES }, () => dial(server)));
    for (const socket of clients) {
      socket.write(headOf(server, "SendMessage", BODY_BYTES));
      socket.write(almostAll);
    }
    await roundTrips(server, QueueUrl);
    const long = "b".repeat(MIB);
    await call(server, "SendMessage", { QueueUrl, MessageBody: long });
    expectWithinBudget(server);
  },
);

onLinux(
  "idle connections beyond the limit do not keep another client out",
  {
    timeout: TEST_MS_MAX,
  },
  async () => {
    const server = await startServer();
    for (let open = 0; open < IDLE; open += 100) {
      await Promise.all(Array.from({ length: 100 }, () => dial(server)));
    }
    // The client connects only now: an idle connection of its own could be the one that is closed.
    await roundTrips(server, await createQueue(server));
    expectWithinBudget(server);
  },
);

onLinux(
  `a publish of 256 KiB to ${SUBSCRIBERS} queues stays within the memory budget`,
  {
    timeout: TEST_MS_MAX,
  },
  async () => {
    const names = Array.from({ length: SUBSCRIBERS }, (_, at) => `q${at}`);
    const setup = {
      queues: names.map((name) => ({ name })),
      topics: [{ name: "t" }],
      // Every other queue gets the bare message, the rest a notification.
      subscriptions: names.map((queue, at) => ({ topic: "t", queue, raw: at % 2 === 0 })),
    };
    const file = join(commands.folder, "setup.json");
    writeFileSync(file, JSON.stringify(setup));
    const server = await startServer("--setup", file);
    const Message = "é\n".repeat(87_000);
    const TopicArn = "arn:aws:sns:us-east-1:000000000000:t";
    const form = { Action: "Publish", Version: "2010-03-31", TopicArn, Message };
    const bodies = Array.from({ length: PUBLISHES }, () => new URLSearchParams(form));
    const replies = await Promise.all(
      bodies.map((body) => fetch(server.endpoint, { method: "POST", body })),
    );
    expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expectWithinBudget(server);
    for (const name of ["q0", "q1", `q${SUBSCRIBERS - 1}`]) {
      const QueueUrl = `${server.endpoint}/000000000000/${name}`;
      const received = await call(server, "ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
      const texts = (received.Messages ?? []).map(({ Body }) => {
        return Body.startsWith("{") ? (JSON.parse(Body) as { Message: string }).Message : Body;
      });
      expect(texts.length).toBeGreaterThan(0);
      expect(texts.every((text) => text === Message)).toBe(true);
    }
    expectWithinBudget(server);
  },
);

onLinux(
  `${RECEIVERS} long replies that clients do not read stay within the memory budget`,
  {
    timeout: TEST_MS_MAX,
  },
  async () => {
    const server = await startServer();
    const QueueUrl = await createQueue(server);
    const MessageBody = "c".repeat(MIB);
    for (let count = 0; count < 10; count += 1) {
      await call(server, "SendMessage", { QueueUrl, MessageBody });
    }
    // Without a timeout, each receive gets all ten messages.
    const input = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0 };
    const body = JSON.stringify(input);
    const clients = await Promise.all(Array.from({ length: RECEIVERS }, () => dial(server)));
    for (const socket of clients) {
      socket.pause();
      socket.write(headOf(server, "ReceiveMessage", body.length) + body);
    }
    const { QueueUrl: other = "" } = await call(server, "CreateQueue", { QueueName: "other" });
    await roundTrips(server, other);
    expectWithinBudget(server);
  },
);
