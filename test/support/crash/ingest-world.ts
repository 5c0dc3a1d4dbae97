// Ingest world: an embedded cloud in its own process, consumer processes beside it, and the state
// that a test checks afterwards. Tests wait for lines that a process printed and for queue counts,
// never for time.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { S3Client } from "@aws-sdk/client-s3";
import { CreateQueueCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type ChildServer, startChild } from "../../../bench/broker/child-server.ts";
import { freePort } from "../../../scripts/free-port.ts";
import { present } from "../../../src/core/assert.ts";
import { buildEnvelope } from "../../../src/core/events/envelope.ts";
import { VISIBILITY_MS, type WorkerConfig } from "../../crash/ingest-worker.ts";
import { bundled } from "../bundle/bundled.ts";

const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const CLOUD = await bundled("src/cli/main.ts");
const WORKER = await bundled("test/crash/ingest-worker.ts");
const REDRIVE_POINTS = new URL("../../crash/redrive-points.ts", import.meta.url).href;
const REGION = "us-east-1";
const REGION_AND_ACCOUNT = `${REGION}:000000000000`;
/** Far above the kills of a test: only the runtime sends dead letters here. */
const RECEIVES_MAX = 1_000;
const POLL_MS = 50;
/** Far above the kills of a test. */
const ATTEMPTS_MAX = 50;
const BUSY_MS = 5_000;
const LOG_CHARS_MAX = 4_000;

export interface QueueCounts {
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/** A queue with its dead-letter queue, and the folder of the ledger that its consumers share. */
export interface Stream {
  readonly name: string;
  readonly arn: string;
  readonly queueUrl: string;
  readonly deadLetterUrl: string;
  readonly deadLetterName: string;
  readonly folder: string;
}

export class IngestWorld {
  readonly folder = mkdtempSync(join(tmpdir(), "tidegate-ingest-"));
  readonly #processes = new Set<WorkerProcess>();
  #server: ChildServer | null = null;
  #port = 0;

  /** Starts the cloud, or restarts it on the same port and folder. */
  async up(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    const args = ["--port", String(this.#port), "--data", join(this.folder, "cloud")];
    this.#server = await startChild({ args: [CLOUD, "up", ...args] });
  }

  /** Kills the cloud with SIGKILL. */
  async crash(): Promise<void> {
    await this.#server?.kill();
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  sqs(): SQSClient {
    return new SQSClient(this.#clientOptions());
  }

  s3(): S3Client {
    return new S3Client({ ...this.#clientOptions(), forcePathStyle: true });
  }

  #clientOptions() {
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    return { endpoint: this.endpoint, region: REGION, credentials };
  }

  /** Creates a queue, its dead-letter queue and a folder with the table that counts commits. */
  async createStream(title: string, fifo: boolean): Promise<Stream> {
    const [suffix, base] = fifo ? [".fifo", { FifoQueue: "true" }] : ["", {}];
    const name = `${title}${suffix}`;
    const deadLetterName = `${title}-dead${suffix}`;
    const client = this.sqs();
    await client.send(new CreateQueueCommand({ QueueName: deadLetterName, Attributes: base }));
    const deadLetterTargetArn = `arn:aws:sqs:${REGION_AND_ACCOUNT}:${deadLetterName}`;
    const policy = { deadLetterTargetArn, maxReceiveCount: RECEIVES_MAX };
    const Attributes = { ...base, RedrivePolicy: JSON.stringify(policy) };
    await client.send(new CreateQueueCommand({ QueueName: name, Attributes }));
    client.destroy();
    const folder = join(this.folder, title);
    mkdirSync(folder);
    using db = openLedgerFile(folder);
    db.exec("PRAGMA journal_mode = WAL");
    db.exec("CREATE TABLE commits (key TEXT NOT NULL, owner TEXT NOT NULL, fence INTEGER)");
    const url = (of: string) => `${this.endpoint}/000000000000/${of}`;
    const arn = `arn:aws:sqs:${REGION_AND_ACCOUNT}:${name}`;
    const urls = { queueUrl: url(name), deadLetterUrl: url(deadLetterName) };
    return { name, arn, ...urls, deadLetterName, folder };
  }

  /** Sends a reading and returns its body. */
  async send(stream: Stream, n: number, behavior = "good", group = "g"): Promise<string> {
    const message = readingMessage(stream, n, behavior, group);
    await this.sendBody(stream, message.MessageBody, message);
    return message.MessageBody;
  }

  /** Sends any text unchanged. */
  async sendBody({ queueUrl: QueueUrl }: Stream, MessageBody: string, rest = {}): Promise<void> {
    const client = this.sqs();
    await client.send(new SendMessageCommand({ ...rest, QueueUrl, MessageBody }));
    client.destroy();
  }

  /** The messages in a queue, without receiving them. */
  async messagesIn(name: string): Promise<{ readonly id: string; readonly body: string }[]> {
    const reply = await fetch(`${this.endpoint}/_tidegate/queues/${name}/messages`);
    return ((await reply.json()) as { messages: { id: string; body: string }[] }).messages;
  }

  async counts(name: string): Promise<QueueCounts> {
    const reply = await fetch(`${this.endpoint}/_tidegate/queues?prefix=${name}`);
    const { queues } = (await reply.json()) as { queues: (QueueCounts & { name: string })[] };
    return present(
      queues.find((queue) => queue.name === name),
      `the queue ${name}`,
    );
  }

  /** Waits until a queue is empty, in-flight messages included. */
  async empty(name: string): Promise<void> {
    for (;;) {
      const { visible, inFlight, delayed } = await this.counts(name);
      if (visible + inFlight + delayed === 0) return;
      await sleep(POLL_MS);
    }
  }

  worker(stream: Stream, config: Partial<WorkerConfig>): WorkerProcess {
    const { queueUrl, deadLetterUrl, folder } = stream;
    const whole: WorkerConfig = {
      endpoint: this.endpoint,
      queueUrl,
      deadLetterUrl,
      folder,
      owner: `worker-${this.#processes.size + 1}`,
      lease: "auto",
      contents: "messages",
      host: "run",
      sink: "table",
      concurrency: 4,
      drainMs: 25_000,
      plan: null,
      holds: false,
      visibilityMs: VISIBILITY_MS,
      thread: true,
      attempts: ATTEMPTS_MAX,
      repaired: false,
      ...config,
    };
    return this.#spawn(whole.owner, [WORKER, JSON.stringify(whole)]);
  }

  /** Runs the real command line; `point` is where redrive-points.ts kills it. */
  command(words: readonly string[], point: string | null): WorkerProcess {
    const env = { TIDEGATE_ENDPOINT: this.endpoint, AWS_REGION: REGION };
    const kill = point === null ? {} : { TIDEGATE_TEST_POINT: point };
    return this.#spawn("tidegate", ["--import", REDRIVE_POINTS, MAIN, ...words], {
      ...env,
      ...kill,
    });
  }

  #spawn(owner: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): WorkerProcess {
    const started = new WorkerProcess(owner, words, env);
    this.#processes.add(started);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#processes) await worker.end("SIGKILL");
    await this.crash();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function readingMessage(stream: Stream, n: number, behavior: string, group: string) {
  const eventTime = "2026-11-15T08:00:00Z";
  const input = { source: "test.crash.ingest", dedupeKey: `reading-${n}`, eventTime };
  const built = buildEnvelope({ ...input, payload: { n, behavior } });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  const { body, dedupId } = built.value;
  const fifo = stream.name.endsWith(".fifo");
  return {
    QueueUrl: stream.queueUrl,
    MessageBody: body,
    ...(fifo && { MessageGroupId: group, MessageDeduplicationId: dedupId }),
  };
}

export function openLedgerFile(folder: string): DatabaseSync {
  return new DatabaseSync(join(folder, "ledger.db"), { timeout: BUSY_MS });
}

/** A consumer process and the lines that it printed. */
export class WorkerProcess {
  readonly owner: string;
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #log = "";
  #onLine: (() => void)[] = [];

  constructor(owner: string, words: readonly string[], env: NodeJS.ProcessEnv) {
    this.owner = owner;
    this.#child = spawn(process.execPath, words, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#ended = once(this.#child, "close").finally(() => this.#wake());
    const { stdout, stderr } = this.#child;
    let rest = "";
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.lines.push(...lines);
      this.#wake();
    });
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_CHARS_MAX);
    });
  }

  /** Waits until `times` of its lines match; throws if it ends before. */
  async waitForLine(pattern: RegExp, times = 1): Promise<void> {
    while (this.lines.filter((line) => pattern.test(line)).length < times) {
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null) {
        await this.#ended;
        if (this.lines.filter((line) => pattern.test(line)).length >= times) return;
        const end = `${this.owner} ended with ${exitCode ?? signalCode}`;
        throw new Error(`${end} without ${pattern}: ${this.lines.join(", ")}\n${this.#log}`);
      }
      await new Promise<void>((resolve) => this.#onLine.push(resolve));
    }
  }

  /** Calls back for every line that is printed from now on. */
  onLines(callback: (line: string) => void): void {
    let from = this.lines.length;
    const follow = () => {
      for (; from < this.lines.length; from += 1) callback(this.lines[from] ?? "");
      this.#onLine.push(follow);
    };
    this.#onLine.push(follow);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  writeLine(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Waits for its end and returns the exit code, or the name of the signal. */
  async ended(): Promise<number | string | null> {
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async end(signal: NodeJS.Signals): Promise<number | string | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal(signal);
    return this.ended();
  }

  get log(): string {
    return this.#log;
  }

  #wake(): void {
    const waiting = this.#onLine;
    this.#onLine = [];
    for (const resume of waiting) resume();
  }
}

export interface LedgerContent {
  readonly readings: { readonly n: number; readonly part: number; readonly owner: string }[];
  readonly commits: { readonly key: string; readonly owner: string; readonly fence: number }[];
  readonly records: { readonly key: string; readonly state: string; readonly fence: number }[];
}

/** The content of a stream's ledger file: the ledger's tables and the sink's. */
export function readLedger(
  { folder }: Stream,
  sink: "table" | "function" = "table",
): LedgerContent {
  using db = openLedgerFile(folder);
  const all = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row })) as never;
  const rows = sink === "table" ? "SELECT n, part, owner FROM readings ORDER BY n, part" : null;
  return {
    readings: rows === null ? [] : all(rows),
    commits: all("SELECT key, owner, fence FROM commits"),
    records: all("SELECT key, state, fence FROM ledger_record ORDER BY key"),
  };
}
