// One server: every command that takes an endpoint, in one environment with contradicting sources.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { allCommands } from "../../../src/cli/command-table.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { PermanentError, pipeline } from "../../../src/index.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { writeEndpointFile } from "../../../src/run/open/endpoint-file.ts";
import { lockFolder } from "../../../src/stores/sqlite/broker/folder-lock.ts";
import { eventually } from "../../support/eventually.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("one-server");
const data = join(folder, "data");
const file = join(folder, "pipeline.ts");
const jobs = join(folder, "jobs.jsonl");
const LEDGER = `sqlite:${join(data, "ledger.db")}`;
const WAITS_MS = 36_000_000;
const SOURCE = { bucket: "place", queue: "place-events" };

/** The sources, the strongest first. */
const SOURCES = ["flag", "service", "all", "cloud"] as const;
type Source = (typeof SOURCES)[number];

/** Refuses every call, and notes that it was called. */
class Recorder {
  readonly #server: Server;
  calls = 0;
  /** The queues that were asked for. */
  readonly queues = new Set<string>();

  constructor() {
    this.#server = createServer((request, reply) => this.#answer(request, reply));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, reply: ServerResponse): void {
    const { url, headers } = request;
    if (url === "/_tidegate/health") {
      reply.end(JSON.stringify({ service: "tidegate" }));
      return;
    }
    this.calls += 1;
    const isSqs = headers["x-amz-target"] !== undefined;
    const refusal = isSqs ? '{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}' : "";
    request.setEncoding("utf8").on("data", (text: string) => {
      const [, name] = /"QueueName":"([^"]+)"/.exec(text) ?? [];
      if (isSqs && name !== undefined) this.queues.add(name);
    });
    request.on("end", () => reply.writeHead(isSqs ? 400 : 404).end(refusal));
  }
}

const recorders = {
  flag: new Recorder(),
  service: new Recorder(),
  all: new Recorder(),
  cloud: new Recorder(),
};
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  await seedLedger();
  writeFileSync(
    file,
    `import { pipeline } from "tidegate";
export default pipeline({ name: "place", source: ${JSON.stringify(SOURCE)}, handler() {} });\n`,
  );
  writeFileSync(jobs, '{"key":"a","body":1}\n');
  for (const recorder of Object.values(recorders)) {
    await recorder.listen();
    closers.push(() => recorder.close());
  }
  const lock = lockFolder(data);
  closers.push(() => lock.release(), writeEndpointFile(data, recorders.cloud.endpoint));
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});
afterEach(() => vi.unstubAllEnvs());

/** A ledger with a committed, a failed and a dead-lettered record, which names its queue. */
async function seedLedger(): Promise<void> {
  const seeded = pipeline({
    name: "place",
    source: SOURCE,
    retry: { attempts: 5, baseMs: WAITS_MS, capMs: WAITS_MS },
    handler({ object }) {
      if (object.key === "failed") throw new Error("not now");
      if (object.key === "dead") throw new PermanentError("never");
    },
  });
  const settings = { data, port: 0, metricsPort: 0, logLevel: "error" } as const;
  await using dev = await startDev(seeded, settings, { onLogLine() {} });
  for (const key of ["good", "failed", "dead"]) await dev.put(key, key);
  const ended = { retried: 1, deadLettered: 1, committed: 1 };
  await eventually(() => expect(dev.snapshot()).toMatchObject(ended));
}

const at = ["--data", data];
const target = [...at, "--queue", "place-events"];
const batch = [...target, "--pipeline", file, "--batch", "b"];
const listen = ["--metrics-port", "0"];
const past = ["--from", "2020-01-01"];
const until = () => ["--to", new Date().toISOString()];

/** How each command is run so that it calls a server. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  run: [file, ...at, ...listen],
  task: [file, ...at, "--", "true"],
  dispatch: [file, ...at, ...listen, "--", "true"],
  console: [...at, "--pipeline", file, "--port", "0"],
  audit: [file, ...at],
  backfill: [file, ...at],
  "dlq list": [...at, "--pipeline", file, "--peek"],
  "dlq redrive": [...at],
  "dlq drop": [...at, "--yes"],
  watermark: [file, ...at],
  retry: ["s3://place/failed", ...at, "--pipeline", file],
  replay: [file, ...at, ...past, "--into", "live", "--dry-run"],
  "jobs register": [jobs, ...batch],
  "jobs retry": [...batch],
  relay: [...target, "--once"],
  sweep: [...target, "--pipeline", file],
  doctor: [...at, "--queue", "place-events"],
  "infra diff": [file],
};

/** Commands that call no server on this ledger; their sessions are those of the others. */
const SILENT: Readonly<Record<string, string>> = {
  "quarantine redrive": "the ledger has no quarantined rows; opens queues as dlq redrive",
  "late release": "the ledger has no late records; opens queues as dlq redrive",
  "replay list": "reads the ledger",
  "replay show": "reads the ledger",
  "replay diff": "reads the ledger and the sink",
  "replay promote": "reads the ledger and the sink",
  "replay drop": "reads the ledger and the sink",
  "replay cancel": "reads the ledger",
  reproduce: "needs the manifest of a run; opens objects as replay",
  "jobs list": "reads the ledger and the outbox",
  "jobs show": "reads the ledger and the outbox",
};

/** Runs a command in an environment that has this source and all weaker ones. */
async function callersOf(name: string, source: Source): Promise<readonly Source[]> {
  const has = (each: Source) => SOURCES.indexOf(each) >= SOURCES.indexOf(source);
  const services = ["SQS", "SNS", "S3"].map((service) => `AWS_ENDPOINT_URL_${service}`);
  for (const variable of services) {
    vi.stubEnv(variable, has("service") ? recorders.service.endpoint : undefined);
  }
  vi.stubEnv("AWS_ENDPOINT_URL", has("all") ? recorders.all.endpoint : undefined);
  vi.stubEnv("AWS_REGION", undefined);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "any");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "any");
  const words = [...(CALLS[name] ?? []), ...(name === "replay" ? until() : [])];
  const flag = has("flag") ? ["--endpoint", recorders.flag.endpoint] : [];
  const split = words.includes("--") ? words.indexOf("--") : words.length;
  const all = [...name.split(" "), ...words.slice(0, split), ...flag, ...words.slice(split)];
  for (const recorder of Object.values(recorders)) recorder.calls = 0;
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  await runCli(all, { terminal: false, line: note, note });
  const called = SOURCES.filter((each) => recorders[each].calls > 0);
  expect(notes.join("\n")).not.toContain("no AWS region");
  return called.length > 0 ? called : expect.fail(`nothing was called: ${notes.join("\n")}`);
}

test("every command with an endpoint is in one of the two tables", async () => {
  const commands = (await allCommands()).filter(({ flags }) => "endpoint" in flags);
  const names = commands.map(({ name }) => name).filter((name) => name !== "dev");
  expect(names.toSorted()).toEqual([...Object.keys(CALLS), ...Object.keys(SILENT)].toSorted());
});

test.each(Object.keys(CALLS))(
  "%s calls the server that the strongest source names",
  async (name) => {
    for (const source of SOURCES) {
      if (source === "cloud" && name === "infra diff") continue; // F3 of find-server.ts
      expect(await callersOf(name, source), source).toEqual([source]);
    }
  },
);

test("a ledger that is named and is the folder's own leads to the same server", async () => {
  vi.stubEnv("TIDEGATE_LEDGER", LEDGER);
  expect(await callersOf("dlq redrive", "cloud")).toEqual(["cloud"]);
});

/** Commands that find a queue: by --queue, TIDEGATE_QUEUE, and the pipeline or the ledger. */
const QUEUE_CALLS: Readonly<Record<string, readonly string[]>> = {
  run: [file, ...at, ...listen],
  task: [file, ...at, "--", "true"],
  dispatch: [file, ...at, ...listen, "--", "true"],
  audit: [file, ...at],
  "dlq list": [...at, "--pipeline", file, "--peek"],
  "dlq redrive": at,
  "dlq drop": [...at, "--yes"],
  watermark: [file, ...at],
};

/** Commands with --queue that do not find a queue like that, and why. */
const OTHER_QUEUES: Readonly<Record<string, string>> = {
  "quarantine redrive": "the ledger has no quarantined rows; opens queues as dlq redrive",
  "late release": "the ledger has no late records; opens queues as dlq redrive",
  backfill: "reads the bucket first; its lister finds nothing here",
  retry: "asks the cloud for the message, in all queues unless one is named",
  console: "reads the queue when a page asks for it",
  "jobs register": "--queue is the queue of the jobs, and no variable names it",
  "jobs list": "as jobs register",
  "jobs show": "as jobs register",
  "jobs retry": "as jobs register",
  relay: "as jobs register",
  sweep: "as jobs register",
  doctor: "--queue is a list of queues to check",
};

test("every command with a queue is in one of the two tables", async () => {
  const commands = (await allCommands()).filter(({ flags }) => "queue" in flags);
  const expected = [...Object.keys(QUEUE_CALLS), ...Object.keys(OTHER_QUEUES)];
  expect(commands.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());
});

test.each(Object.entries(QUEUE_CALLS))(
  "%s asks for the queue that the strongest source names",
  async (name, words) => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "any");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "any");
    const split = words.includes("--") ? words.indexOf("--") : words.length;
    const server = ["--endpoint", recorders.flag.endpoint];
    const sources = { flagged: ["--queue", "flagged"], named: [], "place-events": [] };
    for (const [queue, flags] of Object.entries(sources)) {
      vi.stubEnv("TIDEGATE_QUEUE", queue === "place-events" ? undefined : "named");
      recorders.flag.queues.clear();
      const all = [...words.slice(0, split), ...server, ...flags, ...words.slice(split)];
      await runCli([...name.split(" "), ...all], { terminal: false, line() {}, note() {} });
      expect([...recorders.flag.queues]).toEqual([queue]);
    }
  },
);

test("nothing but find-server.ts reads the variables of endpoints or looks for a cloud", () => {
  const root = join(import.meta.dirname, "../../../src");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" });
  const sources = files.filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
  const readers = sources.filter((path) => {
    const text = readFileSync(join(root, path), "utf8");
    if (/\bfindFolderCloud\(/.test(text)) return true;
    return text.includes("AWS_ENDPOINT_URL") && text.includes("process.env");
  });
  expect(readers.toSorted()).toEqual(["run/open/endpoint-file.ts", "run/open/find-server.ts"]);
});
