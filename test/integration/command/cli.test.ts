// The command line in real processes: what it prints, how it stops, what survives kill -9.

import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";
import { devNull } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type CommandRun, endOf, useCommands } from "../../support/command-process.ts";
import { eventually } from "../../support/eventually.ts";
import { needsFullSize, sampleOf } from "../../support/full-size.ts";

/** Linux's: takes nothing. */
const FULL_DISK = "/dev/full";

const commands = useCommands("cli");
const start = (...words: string[]) => commands.start(words);
const end = (...words: string[]) => endOf(start(...words));

interface Ready {
  readonly endpoint: string;
  readonly port: number;
  readonly data: string | null;
  readonly pid: number;
}

/** Resolves when a command has printed its first line, however long that takes. */
async function firstLine(run: CommandRun): Promise<void> {
  await Promise.race([
    run.ended.then(() => Promise.reject(new Error(`ended early: ${run.printed.err}`))),
    new Promise<void>((resolve) => {
      run.child.stdout?.on("data", () => run.printed.out.includes("\n") && resolve());
    }),
  ]);
}

async function startReady(...words: string[]): Promise<CommandRun & { ready: Ready }> {
  const run = start("up", "--json", "--port", "0", ...words);
  await firstLine(run);
  return { ...run, ready: JSON.parse(run.printed.out) as Ready };
}

/** Whether the server has stopped to take connections. */
async function refuses(ready: Ready): Promise<boolean> {
  const socket = connect(ready.port, "127.0.0.1");
  const refused = await Promise.race([
    once(socket, "connect").then(() => false),
    once(socket, "error").then(() => true),
  ]).catch(() => true);
  socket.destroy();
  return refused;
}

/** The status of a request whose Host header is `host`; fetch would not set it. */
async function statusFor(ready: Ready, host: string): Promise<number | undefined> {
  const request = get({ port: ready.port, path: "/_tidegate/health", headers: { host } });
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}

async function call(ready: Ready, action: string, input: object) {
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `AmazonSQS.${action}`,
  };
  const request = { method: "POST", headers, body: JSON.stringify(input) };
  const reply = await fetch(ready.endpoint, request);
  return (await reply.json()) as Record<string, string> & { Messages?: { Body: string }[] };
}

describe("tidegate", () => {
  test("prints its version, its help and the flags of a command", async () => {
    expect(await end("--version")).toMatchObject({ code: 0, out: expect.stringMatching(/^\d/) });
    expect(await end("--help")).toMatchObject({ code: 0, out: expect.stringContaining("up  ") });
    expect(await end("up", "--help")).toMatchObject({
      code: 0,
      out: expect.stringContaining("--port PORT"),
    });
  });

  const lines: [string[], string][] = [
    [["upp"], 'unknown command "upp"; did you mean up?'],
    [["--verson"], 'unknown flag "--verson"; did you mean --version?'],
    [["up", "--prot", "1"], '"up" has no flag --prot; did you mean --port?'],
    [["up", "--ledger", "a"], '"up" has no flag --ledger; run tidegate up --help to see its flags'],
    [["ledger", "stats", "--url", "a"], '"ledger stats" has no flag --url; it has --ledger'],
    [["up", "--port", "99999"], '--port must be a whole number from 0 to 65535, not "99999"'],
    [["up", "--clock", "foo"], '--clock must be system or virtual, not "foo"'],
    [["up", "--data"], "--data needs a value: FOLDER"],
    [["up", "--memory", "--data", "x"], "use either --memory or --data"],
    [["up", "now"], '"up" takes no argument, but got "now"'],
  ];
  test.each(sampleOf(4, lines))(
    "rejects %j with one line and exit code 2",
    async (words, message) => {
      const { code, out, err } = await end(...words);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(message);
      expect(err.trim().split("\n")).toHaveLength(1);
    },
  );
});

test("a command whose reader closes the pipe ends without a stack trace", async () => {
  const { child, printed, ended } = start("--help");
  child.stdout?.destroy();
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(printed.err).toBe("");
});

describe.runIf(existsSync(FULL_DISK))("on a full disk", () => {
  const full = openSync(existsSync(FULL_DISK) ? FULL_DISK : devNull, "w");
  afterAll(() => closeSync(full));

  test("a server that cannot write its notes continues to serve", async () => {
    // An open host is worth a note.
    const words = ["up", "--memory", "--port", "0", "--host", "0.0.0.0", "--insecure"];
    const run = commands.start(words, {}, { errTo: full });
    const { child, printed, ended } = run;
    await firstLine(run);
    const [endpoint = ""] = /http:\S+/.exec(printed.out) ?? [];
    expect((await fetch(new URL("/_tidegate/health", endpoint))).status).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  test("a command whose result cannot be written says so and fails", async () => {
    const { printed, ended } = commands.start(["--help"], {}, { outTo: full });
    expect(await ended).toEqual({ code: 1, signal: null });
    expect(printed.err).toMatch(/^cannot write to stdout, output is lost: ENOSPC.*\n$/);
  });
});

describe("tidegate up", () => {
  test("prints one ready line with its endpoint, and answers there", async () => {
    const run = start("up", "--memory", "--port", "0");
    await firstLine(run);
    const [, endpoint = ""] =
      /^tidegate is ready at (\S+) \(in memory\)\n$/.exec(run.printed.out) ?? [];
    expect((await fetch(new URL("/_tidegate/health", endpoint))).status).toBe(200);
    expect(run.printed.err).toBe("");
  });

  test.each(sampleOf(2, ["SIGTERM", "SIGINT"] as const))(
    "stops cleanly upon %s with a long poll and idle connections open",
    async (signal) => {
      const { child, ended, ready } = await startReady("--memory");
      const { QueueUrl } = await call(ready, "CreateQueue", { QueueName: "q" });
      const poll = call(ready, "ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
      await call(ready, "ListQueues", {});
      child.kill(signal);
      expect(await ended).toEqual({ code: 0, signal: null });
      expect(await poll).toEqual({});
    },
  );

  test("ends at once upon a second signal, however long the first would take", async () => {
    const { child, ended, ready } = await startReady("--memory");
    const stuck = connect(ready.port, "127.0.0.1");
    stuck.on("error", () => {});
    await once(stuck, "connect");
    stuck.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nnot all");
    await call(ready, "ListQueues", {});
    child.kill("SIGTERM");
    await expect.poll(() => refuses(ready)).toBe(true);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
  });

  test("warns when it listens beyond loopback, and not otherwise", async (context) => {
    needsFullSize(context);
    const open = await startReady("--memory", "--host", "0.0.0.0", "--insecure");
    expect(open.printed.err).toMatch(/^Warning: listening on 0\.0\.0\.0.*No credentials/);
    expect(open.ready.endpoint).toBe(`http://127.0.0.1:${open.ready.port}`);
  });

  test("refuses to listen beyond loopback without keys, unless it may be insecure", async () => {
    const run = start("up", "--memory", "--port", "0", "--host", "0.0.0.0");
    expect(await run.ended).toEqual({ code: 2, signal: null });
    expect(run.printed.err).toMatch(/add --auth with a file of keys, or --insecure/);
  });

  test("prints the link of its console if that has a token", async (context) => {
    needsFullSize(context);
    const words = ["up", "--memory", "--port", "0", "--host", "0.0.0.0", "--insecure"];
    const { printed } = start(...words, "--console-token", "secret");
    await eventually(() => expect(printed.err).toMatch(/^Console: .*\n/m));
    const link = /^Console: (\S+)$/m.exec(printed.err)?.[1] ?? "";
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_tidegate\/console\/login\?code=/);
    const reply = await fetch(link, { redirect: "manual" });
    expect(reply.headers.get("set-cookie")).toContain("tidegate_console=");
  });

  test("answers to the names of --allow-host, and to no other foreign name", async (context) => {
    needsFullSize(context);
    const closed = await startReady("--memory");
    expect(await statusFor(closed.ready, "tidegate:4566")).toBe(403);
    const flags = ["--allow-host", "tidegate, host.docker.internal", "--allow-link-local"];
    const { ready } = await startReady("--memory", ...flags);
    for (const host of ["tidegate:4566", "bucket.tidegate", "host.docker.internal", "localhost"]) {
      expect([host, await statusFor(ready, host)]).toEqual([host, 200]);
    }
    expect(await statusFor(ready, "pages.example")).toBe(403);
    const invalid = await end("up", "--memory", "--port", "0", "--allow-host", "http://a:1");
    expect(invalid.code).toBe(2);
    expect(invalid.err).toContain('"http://a:1" is not a host name');
  });

  test("refuses a port that is taken, with a hint and exit code 1", async () => {
    const { ready } = await startReady("--memory");
    const { code, err } = await end("up", "--memory", "--port", `${ready.port}`);
    expect(code).toBe(1);
    expect(err).toBe(
      `port ${ready.port} on 127.0.0.1 is in use by another program\n` +
        "Choose another port, or port 0 for a free one. (TG_PORT_IN_USE)\n",
    );
  });

  test("refuses a folder that another process has, and names that process", async () => {
    const { child } = await startReady("--data", "d");
    const { code, err } = await end("up", "--port", "0", "--data", "d");
    expect(code).toBe(1);
    expect(err).toContain(`data folder d is in use by another process (pid ${child.pid})`);
    expect(err).toContain("TG_STORE_LOCKED");
  });

  test("refuses a folder whose lock file was deleted while its broker runs, which continues", async (context) => {
    needsFullSize(context);
    const { child, ready } = await startReady("--data", "d");
    const { QueueUrl = "" } = await call(ready, "CreateQueue", { QueueName: "q" });
    for (const round of ["with a log", "again"]) {
      rmSync(join(commands.folder, "d", "broker.lock"), { force: true });
      const { code, err } = await end("up", "--port", "0", "--data", "d");
      expect(code).toBe(1);
      expect(err).toContain(`data folder d is in use by another process (pid ${child.pid})`);
      expect(err).toContain("TG_STORE_LOCKED");
      const { MessageId } = await call(ready, "SendMessage", { QueueUrl, MessageBody: round });
      expect(MessageId).toBeDefined();
    }
    child.kill("SIGKILL");
    await once(child, "exit");
    const next = await startReady("--data", "d");
    const url = QueueUrl.replace(/:\d+\//, `:${next.ready.port}/`);
    const asked = { QueueUrl: url, MaxNumberOfMessages: 10 };
    expect((await call(next.ready, "ReceiveMessage", asked)).Messages).toHaveLength(2);
  });

  test("refuses a file in place of a folder, and says that it is one", async (context) => {
    needsFullSize(context);
    const file = join(commands.folder, "notes.txt");
    writeFileSync(file, "mine");
    const { code, err } = await end("up", "--port", "0", "--data", file);
    expect(code).toBe(1);
    expect(err).toContain(`${file} cannot be opened for writing: it is a file, not a folder`);
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  test("refuses a damaged folder, with a hint and exit code 1", async () => {
    writeFileSync(join(commands.folder, "broker.sqlite"), "no database");
    const { code, err } = await end("up", "--port", "0", "--data", commands.folder);
    expect(code).toBe(1);
    expect(err).toContain(
      `${join(commands.folder, "broker.sqlite")} is damaged: it is not a database`,
    );
    expect(err).toContain("TG_STORE_CORRUPT");
  });

  test("kill -9 loses nothing that was acknowledged, and the next start uses the folder", async () => {
    const first = await startReady("--data", "d");
    const { QueueUrl } = await call(first.ready, "CreateQueue", { QueueName: "q" });
    const bodies = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    await Promise.all(
      bodies.map((MessageBody) => call(first.ready, "SendMessage", { QueueUrl, MessageBody })),
    );
    first.child.kill("SIGKILL");
    expect(await first.ended).toEqual({ code: null, signal: "SIGKILL" });
    const second = await startReady("--data", "d");
    const received: string[] = [];
    for (let round = 0; round < 50 && received.length < bodies.length; round += 1) {
      const input = { QueueUrl, MaxNumberOfMessages: 10 };
      const { Messages = [] } = await call(second.ready, "ReceiveMessage", input);
      received.push(...Messages.map(({ Body }) => Body));
    }
    expect(received.toSorted()).toEqual(bodies.toSorted());
  });
});

describe("setup and faults from files", () => {
  const write = (name: string, value: unknown) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    writeFileSync(join(commands.folder, name), text);
  };

  test("tidegate up --setup creates what examples/cloud.json names, once", async () => {
    const example = join(import.meta.dirname, "..", "..", "..", "examples", "cloud.json");
    for (const _start of [1, 2]) {
      const { ready, child, ended } = await startReady("--data", "d", "--setup", example);
      const reply = await fetch(`${ready.endpoint}/_tidegate/queues`);
      const { queues } = (await reply.json()) as { queues: { name: string; visible: number }[] };
      expect(queues.map(({ name }) => name)).toContain("orders");
      // The test event of the bucket went to the topic once, and from there to its raw subscriber.
      expect(queues.find(({ name }) => name === "orders")?.visible).toBe(1);
      child.kill("SIGTERM");
      expect((await ended).code).toBe(0);
    }
  });

  const setups: [unknown, RegExp][] = [
    ["{", /is not valid JSON.*line 1/],
    ['{"queues": [], "queues": []}', /is not valid JSON/],
    [{ queues: [{ name: "q", colour: "red" }] }, /\/queues\/0\/colour is an unknown field/],
    [{ queues: [{ name: "q", attributes: { DelaySeconds: -1 } }] }, /\/queues\/0 is refused/],
  ];
  test.each(sampleOf(3, setups))(
    "a setup of %j ends with exit code 2 and a message",
    async (value, message) => {
      write("bad.json", value);
      const { code, out, err } = await end("up", "--memory", "--port", "0", "--setup", "bad.json");
      expect([code, out]).toEqual([2, ""]);
      expect(err).toMatch(message);
    },
  );

  test("a file that is not there ends with exit code 2", async (context) => {
    needsFullSize(context);
    const { code, err } = await end("up", "--memory", "--port", "0", "--setup", "none.json");
    expect([code, err]).toEqual([2, expect.stringContaining("cannot read none.json (ENOENT)")]);
  });

  test("faults appear in the ready line and in health, and invalid ones end with exit code 2", async (context) => {
    needsFullSize(context);
    write("faults.json", { kind: "throttle", target: { queue: "*" }, probability: 0.5 });
    const { ready, printed } = await startReady("--memory", "--faults", "faults.json");
    expect(ready).toMatchObject({ faults: 1 });
    expect(printed.err).toContain("1 fault is active");
    const health = await fetch(`${ready.endpoint}/_tidegate/health`);
    expect(await health.json()).toMatchObject({ status: "ok", faults: 1 });
    write("faults.json", [{ kind: "throttle", target: { queue: "*" }, probability: 2 }]);
    const bad = await end("up", "--memory", "--port", "0", "--faults", "faults.json");
    expect([bad.code, bad.err]).toEqual([2, expect.stringContaining("faults[0].probability")]);
  });
});
