// Pack: the npm package as a user gets it: packed, installed without a registry into an unrelated
// project, imported, type-checked and run. It runs at full size only: the build takes long.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PackedPackage, sizeProblems } from "../../scripts/release-check.ts";
import { isFullSize, requireFullSize } from "../support/full-size.ts";
import { patienceMs } from "../support/patience.ts";
import { requirePart } from "../support/requires.ts";
import { startShell } from "../support/shell-session.ts";

const root = join(import.meta.dirname, "..", "..");
const temporary = mkdtempSync(join(tmpdir(), "tidegate-pack-"));
const project = join(temporary, "a foreign project");
const environment = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  npm_config_cache: join(temporary, "cache"),
};
/** A watchdog: building, packing and installing, on a machine with other work. */
const BUILD_MS_MAX = patienceMs(600_000);
/** Downloaded by its test: it is larger than all other packages for development. */
const JEST = "jest@29.7.0";
/** As docs/guides/commonjs.md says. */
const VM_MODULES = "--experimental-vm-modules";
let packedPaths: string[] = [];
let sizes: PackedPackage;
let tarball = "";

function run(command: string, args: readonly string[], cwd = project): string {
  return execFileSync(command, args, { cwd, env: environment, encoding: "utf8", stdio: "pipe" });
}

function runCode(code: string): string {
  writeFileSync(join(project, "check.mjs"), code);
  return run(process.execPath, ["check.mjs"]).trim();
}

/** Packs all direct and transitive runtime dependencies from this repository's node_modules. */
function packDependencies(): string[] {
  const needed = new Set<string>();
  const open = Object.keys(readPackage(root).dependencies ?? {});
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    open.push(...Object.keys(readPackage(join(root, "node_modules", name)).dependencies ?? {}));
  }
  const folders = [...needed].map((name) => join(root, "node_modules", name));
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", temporary, ...folders];
  const packed = folders.length === 0 ? [] : JSON.parse(run("npm", args, root));
  return packed.map(({ filename }: { filename: string }) => join(temporary, filename));
}

function readPackage(folder: string): { dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

requireFullSize();

beforeAll(() => {
  if (!isFullSize) return;
  run(process.execPath, [join(root, "scripts", "build.ts")], root);
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", temporary];
  const [packed] = JSON.parse(run("npm", args, root));
  sizes = packed;
  packedPaths = packed.files.map(({ path }: { path: string }) => path);
  tarball = join(temporary, packed.filename);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), `{ "private": true, "type": "module" }`);
  run("npm", ["install", "--offline", ...packDependencies(), tarball]);
}, BUILD_MS_MAX);

afterAll(() => rmSync(temporary, { recursive: true, force: true }));

test("the package has the build, its SBOM, Terraform modules and pages, and nothing else", () => {
  const pages = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "package.json"];
  const built = [
    "dist/console/app/index.html",
    "dist/console/app/licenses.txt",
    "dist/sbom.cdx.json",
  ];
  const others = packedPaths
    .filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path))
    .filter((path) => !/^dist\/console\/app\/assets\/[\w-]+\.(css|svg)$/.test(path))
    .filter((path) => !/^infra\/terraform\/modules\/[\w-]+\/\w+\.tf$/.test(path));
  expect(others.toSorted()).toEqual([...pages, ...built].toSorted());
  expect(packedPaths.filter((path) => /\.test\./.test(path))).toEqual([]);
});

test("the package is within its size budget", () => {
  expect(sizeProblems(sizes)).toEqual([]);
});

test("publint finds nothing to improve in the package", async () => {
  const { publint } = await import("publint");
  const bytes = readFileSync(tarball);
  const { messages } = await publint({
    pack: { tarball: new Uint8Array(bytes).buffer },
    strict: true,
  });
  expect(messages).toEqual([]);
});

test("every import path resolves to its types in ES modules and bundlers", () => {
  const attw = join(root, "node_modules", ".bin", "attw");
  const args = [tarball, "--profile", "esm-only", "--no-color", "--no-emoji", "--format", "ascii"];
  const report = run(attw, args, root); // It ends with an error if it finds a problem.
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const path of Object.keys(exports)) {
    expect(report).toContain(`"${path.replace(/^\./, "tidegate")}"`);
  }
});

test("a foreign project starts the embedded cloud and sends it a request", () => {
  const code = `
    import { startCloud } from "tidegate/cloud";
    await using cloud = await startCloud({ memory: true, clock: "virtual" });
    const reply = await fetch(new URL("/_tidegate/health", cloud.endpoint));
    console.log(reply.status);
  `;
  expect(runCode(code)).toBe("200");
});

test("a CommonJS project requires the package, and gets the modules that import gives", () => {
  const code = `
    const { pipeline, TidegateError } = require("tidegate");
    const { startTestPipeline } = require("tidegate/testkit");
    const { startCloud } = require("tidegate/cloud");
    (async () => {
      console.log((await import("tidegate")).TidegateError === TidegateError);
      const cloud = await startCloud({ data: "cjs-data" }); // Starts the disk thread.
      console.log((await fetch(new URL("/_tidegate/health", cloud.endpoint))).status);
      await cloud.close();
      const echo = pipeline({
        name: "echo",
        source: { bucket: "files" },
        sink() {},
        handler: async (file, { emit }) => emit(await file.text()),
      });
      const t = await startTestPipeline(echo);
      await t.put("a.txt", "hello");
      await t.idle();
      console.log(...t.effects());
      await t[Symbol.asyncDispose]();
    })();
  `;
  writeFileSync(join(project, "check.cjs"), code);
  const { stdout, stderr } = spawnSync(process.execPath, ["check.cjs"], {
    cwd: project,
    env: environment,
    encoding: "utf8",
  });
  expect([stdout.trim().split("\n"), stderr]).toEqual([["true", "200", "hello"], ""]);
});

test("a foreign project checks its producer against the contract", () => {
  const code = `
    import { buildEnvelope } from "tidegate/produce";
    import { runCompliance } from "tidegate/testkit";
    const results = await runCompliance((event) => {
      const { body, dedupId } = buildEnvelope(event).value;
      return { body, dedupId, groupId: "g" };
    });
    console.log(results.filter(({ problem }) => problem === null).length);
  `;
  expect(runCode(code)).toBe("10");
});

test("a project can test its pipeline in memory", () => {
  const code = `
    import { pipeline } from "tidegate";
    import { startTestPipeline } from "tidegate/testkit";
    const echo = pipeline({
      name: "echo",
      source: { bucket: "files" },
      sink() {},
      handler: async (file, { emit }) => emit(await file.text()),
    });
    await using t = await startTestPipeline(echo);
    await t.put("a.txt", "hello");
    await t.idle();
    console.log(...t.effects());
  `;
  expect(runCode(code)).toBe("hello");
});

test("outboxes come with the package; database drivers do not", () => {
  const code = `
    import { createSqliteOutbox } from "tidegate/stores/sqlite";
    const outbox = createSqliteOutbox({ path: ":memory:" });
    const { pending } = await outbox.stats("q");
    const driver = await import("tidegate/stores/postgres").catch(({ code }) => code);
    console.log(pending, driver);
  `;
  expect(runCode(code)).toBe("0 ERR_MODULE_NOT_FOUND");
});

test("metrics, logs and trace context work without OpenTelemetry, which is optional", () => {
  const code = `
    import { PRODUCER_METRICS } from "tidegate/produce";
    import { createTelemetry, loadTracing } from "tidegate/telemetry";
    const tracing = await loadTracing("test");
    const telemetry = createTelemetry({ metrics: [PRODUCER_METRICS], tracing });
    telemetry.count(PRODUCER_METRICS.windowHits.name);
    const parent = { traceparent: "00-${"a".repeat(32)}-${"b".repeat(16)}-01", tracestate: null };
    const handedOn = telemetry.span("send q", { kind: "producer", parent }).context === parent;
    telemetry.log("info", "done", { handedOn, counted: /_hits_total 1/.test(telemetry.metricsText()) });
    const absent = await import("@opentelemetry/api").catch(({ code }) => code);
    telemetry.log("info", absent);
  `;
  const lines = runCode(code).split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: "done", handedOn: true, counted: true },
    { msg: "ERR_MODULE_NOT_FOUND" },
  ]);
});

test("a project written by `tidegate init` passes its own test, without the AWS SDK", () => {
  run("npx", ["--no-install", "tidegate", "init", "shop"]);
  const shop = join(project, "shop");
  const written = JSON.parse(readFileSync(join(shop, "package.json"), "utf8"));
  // The version need not be on npm, so the project depends on the tarball that it came from.
  const [, dependency = ""] = /^file:(.+)$/.exec(written.dependencies.tidegate) ?? [];
  expect(realpathSync(join(shop, dependency))).toBe(realpathSync(tarball));
  expect(run(process.execPath, ["--test", "--test-reporter=tap"], shop)).toContain("# pass 1\n");
});

test("the installed command writes Terraform from the modules in the package", () => {
  const args = ["--no-install", "tidegate", "infra", "shop/pipeline.ts", "--out", "infra"];
  expect(run("npx", args)).toContain("wrote infra/modules/queue/main.tf\n");
  expect(readFileSync(join(project, "infra", "main.tf"), "utf8")).toContain('module "queue" {');
});

test("running on AWS without its SDK names the packages to install", () => {
  const args = ["--no-install", "tidegate", "run", "shop/pipeline.ts", "--queue", "q"];
  const { status, stderr } = spawnSync("npx", args, {
    cwd: project,
    env: environment,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([
    2,
    expect.stringContaining("npm install @aws-sdk/client-sqs @aws-sdk/client-s3"),
  ]);
});

describe("a new project", () => {
  requirePart("aws-cli");

  test("every command that `tidegate dev` prints works as printed", {
    timeout: BUILD_MS_MAX,
  }, async () => {
    run("npx", ["--no-install", "tidegate", "init", "walk"]);
    const folder = join(project, "walk");
    // Without the empty cache of this file, npm uses packages that were downloaded before.
    const { npm_config_cache: _, ...env } = environment;
    const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
    execFileSync("npm", ["install", ...flags], { cwd: folder, env, stdio: "pipe" });
    const main = join(folder, "node_modules", ".bin", "tidegate");
    const dev = ["dev", "pipeline.ts", "--watch-folder", "inbox", "--port", "0"];
    const child = spawn(main, dev, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
    const shell = startShell({ folder, env, prelude: [] });
    try {
      const commands: string[] = [];
      for await (const line of createInterface({ input: child.stderr })) {
        if (/^ {2}[^ #]/.test(line)) commands.push(line.trim());
        if (commands.at(-1)?.startsWith("curl ")) break;
      }
      // The cause of a dead letter is fixed before it is redriven.
      const fixed = `${commands.find((each) => each.includes("s3 cp samples"))}broken.csv`;
      const redrive = commands.findIndex((each) => each.includes("dlq redrive"));
      commands.splice(redrive, 0, fixed);
      commands.push("npx tidegate watermark pipeline.ts", "npx tidegate audit pipeline.ts");
      const said = new Map<string, string>();
      for (const command of commands) {
        // A command that reads its input must not read the next command.
        const { output, failed } = await shell.run(`{ ${command}\n} </dev/null`);
        expect([command, failed, output]).toEqual([command, [], output]);
        said.set(command, output);
      }
      expect(said.get("npx tidegate dlq redrive")).toContain("1 overtaken");
      expect(said.get("npx tidegate audit pipeline.ts")).toContain("Verdict: complete");
    } finally {
      await shell.close();
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    }
  });
});

test("only the published paths can be imported", () => {
  const code = `
    import("tidegate/dist/core/errors.js").catch((error) => console.log(error.code));
  `;
  expect(runCode(code)).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
});

test("a strict TypeScript project compiles against the package's types", () => {
  const code = `
    import { pipeline, tables } from "tidegate";
    import { startCloud } from "tidegate/cloud";
    import { type RunningDev, startDev } from "tidegate/run";
    import { createProducer, perEntity, type ProducerPorts } from "tidegate/produce";
    import { createTelemetry, loadTracing, type Telemetry } from "tidegate/telemetry";
    import { complianceTests, startTestPipeline } from "tidegate/testkit";
    import { openOperator } from "tidegate/operate";
    import { createMemoryOutbox } from "tidegate/stores/memory";
    const tracing = await loadTracing("check");
    export const telemetry: Telemetry = createTelemetry({ metrics: [], tracing });
    export const producerOf = (ports: ProducerPorts) =>
      createProducer(ports, { groups: perEntity(({ source }) => source) });
    export const titles = complianceTests(() => undefined).map(({ title }) => title);
    const cloud = await startCloud({ memory: true, clock: "virtual" });
    export const endpoint: string = cloud.endpoint;
    const sink = tables({ line: { columns: { id: "text", n: "integer" }, key: ["id"] } });
    export const lines = pipeline({
      name: "lines",
      source: { bucket: "files" },
      sink,
      async handler(file, { upsert }) {
        upsert("line", { id: file.object.key, n: file.object.size });
        // @ts-expect-error A column of another type is rejected, so rows are typed by their table.
        upsert("line", { id: 1 });
      },
    });
    export const rowsOf = async () => {
      await using t = await startTestPipeline(lines);
      await t.idle();
      return t.rows("line");
    };
    export const outbox = createMemoryOutbox({ retentionMs: 86_400_000 });
    export const opened = openOperator({ pipeline: lines });
    export const dev: RunningDev = await startDev(lines, { port: 0 });
    // @ts-expect-error A wrong option is rejected, so the types are in effect.
    await startCloud({ clock: "sundial" });
  `;
  writeFileSync(join(project, "check.ts"), code);
  const tsc = join(root, "node_modules", ".bin", "tsc");
  const typeRoots = join(root, "node_modules", "@types");
  const strict = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"];
  const libraries = ["--lib", "es2024,esnext.disposable", "--types", "node"];
  expect(run(tsc, [...strict, ...libraries, "--typeRoots", typeRoots, "check.ts"])).toBe("");
});

test("the command is installed and prints the version of the package", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(run("npx", ["--no-install", "tidegate", "--version"])).toContain(version);
});

/** Runs in a CommonJS project without any configuration of Jest, and with one flag of Node. */
const JEST_TEST = `
let pipeline, startTestPipeline, startCloud;
beforeAll(async () => {
  ({ pipeline } = await import("tidegate"));
  ({ startTestPipeline } = await import("tidegate/testkit"));
  ({ startCloud } = await import("tidegate/cloud"));
});

test("a pipeline runs", async () => {
  const ids = pipeline({
    name: "ids",
    source: { bucket: "files" },
    format: "csv",
    sink() {},
    async handler(file, { emit }) {
      for await (const { id } of file.rows()) emit(id);
    },
  });
  const t = await startTestPipeline(ids);
  await t.put("a.csv", "id\\nhello\\n");
  await t.idle();
  expect(t.effects()).toEqual(["hello"]);
  await t[Symbol.asyncDispose]();
});

test("the embedded cloud starts its disk thread", async () => {
  const cloud = await startCloud({ data: "cloud-data" });
  const { status } = await fetch(new URL("/_tidegate/health", cloud.endpoint));
  expect(status).toBe(200);
  await cloud.close();
});
`;

test("Jest runs tests that import the package, with the flag of the guide", {
  timeout: BUILD_MS_MAX,
}, (context) => {
  const folder = join(temporary, "jest project");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), `{ "private": true }`);
  // Without the empty cache of this file, npm uses packages that were downloaded before.
  const { npm_config_cache: _, ...env } = environment;
  const options = { cwd: folder, env, encoding: "utf8" } as const;
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  const installed = spawnSync("npm", ["install", ...flags, JEST, tarball], options);
  if (installed.status !== 0) {
    const note = `jest is missing: npm could not install ${JEST} from the registry`;
    if (process.env.TIDEGATE_REQUIRE_ALL === "1") throw new Error(`${note}: ${installed.stderr}`);
    context.skip(note);
  }
  writeFileSync(join(folder, "tidegate.test.js"), JEST_TEST);
  const jest = join(folder, "node_modules", "jest", "bin", "jest.js");
  const { status, stderr } = spawnSync(process.execPath, [VM_MODULES, jest], options);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringContaining("2 passed, 2 total"),
  });
});
