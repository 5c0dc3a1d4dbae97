// The commands that run a pipeline, as real processes: what they print, how they drain and stop.

import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import {
  type CommandRun,
  endOf,
  untilHolds as until,
  useCommands,
} from "../../support/command-process.ts";
import { LAPSE_MS } from "../../support/patience.ts";

/** With SLOW, it waits for a file named "go"; the file "at-work" shows that it has started. */
const PIPELINE = `
import { existsSync, writeFileSync } from "node:fs";
import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "files",
  source: { bucket: "files" },
  visibilityMs: ${LAPSE_MS},
  sink: tables({ line: { columns: { id: "text" }, key: ["id"] } }),
  async handler(file, { upsert, signal }) {
    writeFileSync("at-work", "");
    while (process.env.SLOW && !existsSync("go") && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for await (const row of file.rows()) upsert("line", { id: String((row as { id: string }).id) });
  },
});
`;

const commands = useCommands("commands");
const { start } = commands;
beforeEach(() => writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE));

const end = (words: readonly string[], env?: Record<string, string>) => endOf(start(words, env));

interface Ready {
  readonly endpoint: string;
  readonly metrics: string;
}

function eventsOf({ printed }: CommandRun): Record<string, unknown>[] {
  const whole = printed.out.slice(0, printed.out.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Starts `tidegate dev` and waits for its ready line. */
async function dev(words: readonly string[] = [], env: Record<string, string> = {}) {
  const run = start(["dev", "pipeline.ts", "--json", "--port", "0", "--data", "d", ...words], env);
  await until(run, () => eventsOf(run).length > 0);
  const [ready] = eventsOf(run);
  return { ...run, ready: ready as unknown as Ready };
}

async function committed({ metrics }: Ready): Promise<number> {
  const text = await (await fetch(`${metrics}/metrics`)).text();
  return Number(/^tidegate_messages_committed_total\{[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

async function put({ endpoint }: Ready, key: string, body: string): Promise<void> {
  expect((await fetch(`${endpoint}/files/${key}`, { method: "PUT", body })).status).toBe(200);
}

function lines(): unknown[] {
  const database = new DatabaseSync(join(commands.folder, "d", "ledger.db"), { readOnly: true });
  const rows = database.prepare("SELECT id FROM line ORDER BY id").all();
  database.close();
  return rows.map(({ id }) => id);
}

describe("tidegate dev", () => {
  test("prints its endpoint, processes objects that are put there, and ends cleanly on SIGTERM", async () => {
    const run = await dev();
    expect(run.ready).toMatchObject({
      event: "ready",
      pipeline: "files",
      bucket: "files",
      queue: "files-events",
      deadLetterQueue: "files-dead-letters",
      data: "d",
    });
    await put(run.ready, "a.csv", "id\n1\n2\n");
    await until(run, async () => (await committed(run.ready)) === 1);
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(0);
    expect(lines()).toEqual(["1", "2"]);
    const events = eventsOf(run);
    expect(events.find(({ event }) => event === "draining")).toEqual({
      event: "draining",
      message:
        "SIGTERM: nothing in progress; returning prefetched messages. " +
        "Press Ctrl-C again to stop immediately.",
    });
    expect(events.at(-1)).toMatchObject({ event: "progress", committed: 1, deadLettered: 0 });
    expect(run.printed.err).toBe("");
  });

  test("waits for running handlers on a signal, and commits them", async () => {
    const run = await dev([], { SLOW: "1" });
    await put(run.ready, "a.csv", "id\n1\n");
    await until(run, () => existsSync(join(commands.folder, "at-work")));
    run.child.kill("SIGINT");
    await until(run, () => run.printed.out.includes("draining"));
    expect(run.printed.out).toContain("SIGINT: waiting up to 25 s for 1 record in progress.");
    expect((await fetch(`${run.ready.metrics}/health`)).status).toBe(503);
    writeFileSync(join(commands.folder, "go"), "");
    expect((await run.ended).code).toBe(0);
    expect(lines()).toEqual(["1"]);
  });

  test("ends immediately on a second signal; the next process finishes the work", async () => {
    const run = await dev([], { SLOW: "1" });
    await put(run.ready, "a.csv", "id\n1\n");
    await until(run, () => existsSync(join(commands.folder, "at-work")));
    run.child.kill("SIGTERM");
    await until(run, () => run.printed.out.includes("draining"));
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(143);
    expect(lines()).toEqual([]);
    const next = await dev();
    await until(next, async () => (await committed(next.ready)) === 1);
    expect(lines()).toEqual(["1"]);
  });

  test("answers to the names of --allow-host", async () => {
    const { ready } = await dev(["--allow-host", "tidegate", "--allow-link-local"]);
    const statusFor = async (host: string) => {
      const request = get(`${ready.endpoint}/_tidegate/health`, { headers: { host } });
      const [response] = await once(request, "response");
      response.resume();
      return response.statusCode;
    };
    expect([await statusFor("tidegate:1"), await statusFor("other:1")]).toEqual([200, 403]);
  });

  test("puts files from the watched folder, and moves them to done", async () => {
    const run = await dev(["--watch-folder", "inbox"]);
    writeFileSync(join(commands.folder, "inbox", "b.csv"), "id\n7\n");
    await until(run, async () => (await committed(run.ready)) === 1);
    await until(run, () => readdirSync(join(commands.folder, "inbox", "done")).length === 1);
    expect(lines()).toEqual(["7"]);
  });

  test("puts the files of a feed, and continues when it ends", async () => {
    const feed = `export default function* () { yield { key: "f.csv", body: "id\\n9\\n" }; }`;
    writeFileSync(join(commands.folder, "feed.mjs"), feed);
    const run = await dev(["--feed", "feed.mjs"]);
    await until(run, async () => (await committed(run.ready)) === 1);
    expect(lines()).toEqual(["9"]);
  });

  test("prints plain lines and commands to try into a pipe", async () => {
    const run = start(["dev", "pipeline.ts", "--port", "0", "--data", "d"]);
    await until(run, () => run.printed.err.includes("/metrics"));
    expect(run.printed.out).toMatch(
      /^tidegate dev is ready at http:\/\/127\.0\.0\.1:\d+ \(pipeline files, data in d\)\n$/,
    );
    expect(run.printed.err).toContain("What to try");
    expect(run.printed.err).toContain("why s3://files/broken.csv --data d");
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(0);
    expect(run.printed.out).toContain("received 1, committed 0, duplicates 0");
  });

  test("rejects a port and a data folder that are in use", async () => {
    const { ready } = await dev();
    const { port } = new URL(ready.endpoint);
    const conflict = await end(["dev", "pipeline.ts", "--port", port, "--data", "other"]);
    expect(conflict).toMatchObject({ code: 1, out: "" });
    expect(conflict.err).toContain(`port ${port} on 127.0.0.1 is in use by another program`);
    const locked = await end(["dev", "pipeline.ts", "--port", "0", "--data", "d"]);
    expect(locked.code).toBe(1);
    expect(locked.err).toContain("TG_STORE_LOCKED");
  });

  test("says what to do when the pipeline file no longer fits the data folder", async () => {
    const first = await dev();
    first.child.kill("SIGTERM");
    await first.ended;
    const moved = PIPELINE.replace('bucket: "files"', 'bucket: "files", prefix: "in/"');
    writeFileSync(join(commands.folder, "pipeline.ts"), moved);
    const { code, err } = await end(["dev", "pipeline.ts", "--port", "0", "--data", "d"]);
    expect(code).toBe(1);
    expect(err).toContain("The pipeline file has changed since d was created");
  });
});

describe("an invalid command line", () => {
  const write = (text: string) => writeFileSync(join(commands.folder, "bad.ts"), text);

  test.each([
    ["does not compile", "export default (;", "bad.ts:1:17 does not compile: Expression expected"],
    ["has no default export", "export const a = 1;", "bad.ts has no default export"],
    ["throws", `throw new Error("no");`, "bad.ts:1:7: the file throws while it is loaded"],
  ])("a pipeline file that %s: one paragraph, exit code 2", async (_, text, message) => {
    write(text);
    for (const command of ["dev", "run"]) {
      const { code, out, err } = await end([command, "bad.ts"]);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(message);
      expect(err).toContain("nothing was opened. (TG_PIPELINE_INVALID)");
      expect(err).not.toContain("    at ");
    }
    expect(existsSync(join(commands.folder, ".tidegate"))).toBe(false);
  });

  test.each([
    [["dev"], '"dev" needs FILE'],
    [["dev", "pipeline.ts", "--prot", "1"], '"dev" has no flag --prot; did you mean --port?'],
    [["run", "pipeline.ts", "--drain-ms", "soon"], "--drain-ms must be a whole number from 0 to"],
    [["run", "pipeline.ts", "--port", "1"], '"run" has no flag --port;'],
    [["run", "pipeline.ts"], "the pipeline has no queue to consume; name a queue"],
    [
      ["run", "pipeline.ts", "--queue", "q", "--ledger", "mysql://x"],
      'unknown ledger URL scheme "mysql:"',
    ],
    [
      ["run", "pipeline.ts", "--queue", "q", "--endpoint", "ftp://x"],
      '"ftp://x" is not an endpoint; use a URL such as http://127.0.0.1:4566',
    ],
    [["why"], '"why" needs WHAT'],
    [["why", "s3://files/a.csv"], "does not exist; check the data folder, or the URL of"],
    [["dev", "pipeline.ts", "--feed", "none.mjs", "--port", "0"], "cannot load the feed none.mjs"],
  ])("%j is refused with exit code 2", async (words, message) => {
    const { code, out, err } = await end(words);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(out).toBe("");
  });

  test("an invalid variable is reported by its name", async () => {
    const { code, err } = await end(["run", "pipeline.ts"], { TIDEGATE_LOG_LEVEL: "loud" });
    expect([code, err]).toEqual([
      2,
      'TIDEGATE_LOG_LEVEL must be debug or info or warn or error, not "loud"\n',
    ]);
  });
});

describe("tidegate run", () => {
  test("runs on any endpoint, and reports what to fix about the queue", async () => {
    await using cloud = await startCloud({
      setup: {
        queues: [{ name: "tidings" }],
        buckets: [
          { name: "files", notifications: [{ queue: "tidings", events: ["s3:ObjectCreated:*"] }] },
        ],
      },
    });
    const flags = ["--endpoint", cloud.endpoint, "--queue", "tidings", "--metrics-port", "0"];
    const run = start(["run", "pipeline.ts", "--json", "--data", "d", ...flags]);
    await until(run, () => eventsOf(run).length > 0);
    const [ready] = eventsOf(run) as unknown as Ready[];
    expect(ready).toMatchObject({ event: "ready", pipeline: "files", queue: "tidings" });
    await put({ endpoint: cloud.endpoint, metrics: "" }, "a.csv", "id\n5\n");
    await until(run, async () => (await committed(ready as Ready)) === 1);
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(0);
    expect(lines()).toEqual(["5"]);
    const findings = eventsOf(run).filter(({ event }) => event === "finding");
    expect(findings.map(({ message }) => message).join(" ")).toMatch(/dead-letter queue/);
  });

  test("waits for a queue that does not answer yet, by name and by URL", async () => {
    const setup = { queues: [{ name: "late" }] };
    const first = await startCloud({ setup });
    const { endpoint, port } = first;
    await first.close();
    const flags = ["--endpoint", endpoint, "--metrics-port", "0", "--dead-letter-queue"];
    const byName = ["--queue", "late", "--data", "d", ...flags, `${endpoint}/000000000000/late`];
    const byUrl = ["--data", "e", ...flags, `${endpoint}/000000000000/late`, "--queue"];
    const runs = [
      start(["run", "pipeline.ts", "--json", ...byName]),
      start(["run", "pipeline.ts", "--json", ...byUrl, `${endpoint}/000000000000/late`]),
    ];
    for (const run of runs) {
      await until(run, () => run.printed.err.includes("does not answer, retrying in 1 s"));
      expect(run.printed.out).toBe("");
    }
    await using _cloud = await startCloud({ port, setup });
    for (const run of runs) {
      await until(run, () => eventsOf(run).some(({ event }) => event === "ready"));
      run.child.kill("SIGTERM");
      expect((await run.ended).code).toBe(0);
    }
  });

  test.each(["SIGTERM", "SIGINT"] as const)("stops waiting for a queue on %s", async (signal) => {
    const cloud = await startCloud();
    await cloud.close();
    const flags = ["--endpoint", cloud.endpoint, "--queue", "none", "--metrics-port", "0"];
    const run = start(["run", "pipeline.ts", ...flags]);
    await until(run, () => run.printed.err.includes("queue none does not answer, retrying in"));
    run.child.kill(signal);
    expect((await run.ended).code).toBe(0);
    expect(run.printed.err).not.toContain("    at ");
  });

  test("ends with exit code 1 if the queue does not exist, and says on which server", async () => {
    await using cloud = await startCloud();
    const flags = ["--endpoint", cloud.endpoint, "--queue", "none", "--metrics-port", "0"];
    const { code, err } = await end(["run", "pipeline.ts", ...flags]);
    expect(code).toBe(1);
    const where = `(at ${cloud.endpoint}, by the option endpoint)`;
    expect(err).toContain(`queue none does not exist ${where}`);
    expect(err).toContain("TG_QUEUE_REFUSED");
  });
});

describe("tidegate why", () => {
  test("prints the history of an event while the pipeline runs, as text and as JSON", async () => {
    const run = await dev();
    await put(run.ready, "a b.csv", "id\n1\n");
    await put(run.ready, "broken.csv", "");
    await until(run, async () => (await committed(run.ready)) === 2);
    const history = await end(["why", "s3://files/a b.csv", "--data", "d"]);
    expect(history).toMatchObject({ code: 0, err: "" });
    expect(history.out).toContain("effects     upsert line × 1");
    const json = await end([
      "why",
      "a b.csv",
      "--pipeline",
      "pipeline.ts",
      "--data",
      "d",
      "--json",
    ]);
    expect(JSON.parse(json.out)).toMatchObject({ pipeline: "files", state: "committed" });
    const none = await end(["why", "s3://files/none", "--data", "d"]);
    expect(none).toMatchObject({ code: 1, out: "" });
    expect(none.err).toContain("The ledger has no event of s3://files/none");
  });
});

describe("tidegate dlq", () => {
  test("finds the embedded cloud through the data folder when no endpoint is given", async () => {
    const run = await dev();
    await put(run.ready, "broken.csv", "id,other\n1\n");
    await until(run, async () => (await end(["dlq", "list", "--data", "d"])).out !== "");
    const peeked = await end(["dlq", "list", "--peek", "--data", "d", "--json"]);
    expect(peeked).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(peeked.out)).toMatchObject({ state: "parked", copies: 1 });
    const planned = await end(["dlq", "redrive", "--dry-run", "--data", "d"]);
    expect(planned.out).toContain("1 would be redriven");
    run.child.kill("SIGTERM");
    await run.ended;
    expect(existsSync(join(commands.folder, "d", "endpoint.json"))).toBe(false);
  });
});

describe("an object key with codes that a terminal obeys", () => {
  const key = "x\u001b]0;title\u0007\u009b2J\u202efdp\n.csv";
  const shown = "x\\u001b]0;title\\u0007\\u009b2J\\u202efdp\\u000a.csv";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be printed.
  const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

  test("is escaped by dlq list, dlq show, why, errors and the log", async () => {
    const run = await dev();
    await put(run.ready, encodeURIComponent(key), "id,other\n1\n");
    await until(run, async () => (await end(["dlq", "list", "--data", "d"])).out !== "");
    const at = ["--data", "d"];
    const list = await end(["dlq", "list", ...at]);
    const json = await end(["dlq", "list", "--json", ...at]);
    const show = await end(["dlq", "show", JSON.parse(json.out).key, ...at]);
    const why = await end(["why", `s3://files/${key}`, ...at]);
    const missing = await end(["why", `s3://files/${key}2`, ...at]);
    const usage = await end([`up${key}`]);
    for (const { out, err } of [list, json, show, why, missing, usage]) {
      expect(out + err).not.toMatch(unsafe);
    }
    for (const { out } of [list, show, why]) expect(out).toContain(`s3://files/${shown}`);
    expect(JSON.parse(json.out).objects).toEqual([`s3://files/${key}`]);
    expect(missing.err).toContain("\\u001b]0;title");
    expect(usage.err).toContain("\\u001b]0;title");
    expect(run.printed.out + run.printed.err).not.toMatch(unsafe);
  });
});

describe("tidegate init", () => {
  test("writes a project whose pipeline runs, and overwrites nothing", async () => {
    const { code, out, err } = await end(["init", "shop"]);
    expect([code, out.split("\n")]).toEqual([0, expect.arrayContaining(["pipeline.ts"])]);
    expect(err).toMatch(
      /^Next: cd shop && .*node'? .*main\.ts'? dev pipeline\.ts --watch-folder inbox\n/,
    );
    const again = await end(["init", "shop"]);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("nothing was written")]);
    const run = start(["dev", "shop/pipeline.ts", "--json", "--port", "0", "--data", "d"]);
    await until(run, () => eventsOf(run).length > 0);
    expect(eventsOf(run)[0]).toMatchObject({ event: "ready", pipeline: "shop", bucket: "shop" });
  });
});
