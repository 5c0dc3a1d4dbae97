// DynamoDB Local: starts AWS's own DynamoDB Local for tests, a Java program from Maven Central that
// is downloaded once into the user's cache folder. As a script it prints its endpoint and runs
// until it is stopped. With --fetch it only downloads, so that parallel tests need not.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";

const VERSION = "2.6.1";
const MAIN = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner";
const COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
const FETCH_MS_MAX = 300_000;
/** The server runs for seconds, too short for an optimising compiler to pay off. */
const SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
const START_TRIES_MAX = 150;
const START_PAUSE_MS = 200;

export interface DynamoLocal {
  readonly endpoint: string;
  stop(): void;
}

function works(program: string, flag: string): boolean {
  return spawnSync(program, [flag], { stdio: "ignore" }).status === 0;
}

/** The folder with the jars, downloaded if needed, or why it is not available. */
function fetchJars(): { readonly jars: string } | { readonly missing: string } {
  const cache = resolve(process.env.TIDEGATE_CACHE ?? join(homedir(), ".cache", "tidegate"));
  const jars = join(cache, `dynamodb-local-${VERSION}`);
  if (existsSync(join(jars, `DynamoDBLocal-${VERSION}.jar`))) return { jars };
  if (!works("mvn", "--version")) return { missing: "Maven, which downloads it, is not installed" };
  const work = join(cache, `fetch-${process.pid}`);
  mkdirSync(work, { recursive: true });
  const dependency = `<groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId>`;
  writeFileSync(
    join(work, "pom.xml"),
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
    <groupId>dev.tidegate</groupId><artifactId>dynamodb-local</artifactId><version>1</version>
    <dependencies><dependency>${dependency}<version>${VERSION}</version></dependency></dependencies>
    </project>`,
  );
  const args = ["-B", "-q", COPY, "-DoutputDirectory=jars", "-DincludeScope=runtime"];
  const options = { cwd: work, timeout: FETCH_MS_MAX, stdio: "ignore" as const };
  const { status } = spawnSync("mvn", args, options);
  // Moved in one step, so that an interrupted download never looks complete.
  if (status === 0) moveUnlessThere(join(work, "jars"), jars);
  rmSync(work, { recursive: true, force: true });
  return existsSync(jars) ? { jars } : { missing: "Maven could not download it" };
}

/** Another process may have downloaded the same jars meanwhile. */
function moveUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

async function answers(endpoint: string, child: ChildProcess): Promise<boolean> {
  for (let tries = 0; tries < START_TRIES_MAX && child.exitCode === null; tries += 1) {
    try {
      await fetch(endpoint); // Any response will do, even the rejection of an unsigned request.
      return true;
    } catch {
      await sleep(START_PAUSE_MS);
    }
  }
  return false;
}

/** Starts it in memory on a free port, or returns why it is not available. */
export async function startDynamoLocal(): Promise<DynamoLocal | { readonly missing: string }> {
  if (!works("java", "-version")) return { missing: "Java, which runs it, is not installed" };
  const fetched = fetchJars();
  if ("missing" in fetched) return fetched;
  const { jars } = fetched;
  const port = await freePort();
  const args = [...SHORT_LIVED, `-Djava.library.path=${jars}`, "-cp", `${jars}/*`, MAIN];
  // It writes a file to its working directory, even in memory mode.
  const options = { cwd: tmpdir(), stdio: "ignore" as const };
  const child = spawn("java", [...args, "-inMemory", "-port", String(port)], options);
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = () => void child.kill();
  process.once("exit", stop);
  if (await answers(endpoint, child)) return { endpoint, stop };
  stop();
  return { missing: "it did not start" };
}

if (import.meta.main && process.argv[2] === "--fetch") {
  const fetched = fetchJars();
  if ("missing" in fetched) process.stderr.write(`DynamoDB Local: ${fetched.missing}\n`);
  process.exit("missing" in fetched ? 1 : 0);
}

if (import.meta.main) {
  const started = await startDynamoLocal();
  if ("missing" in started) {
    process.stderr.write(`DynamoDB Local: ${started.missing}\n`);
    process.exit(1);
  }
  process.stdout.write(`${started.endpoint}\n`);
  process.once("SIGTERM", () => process.exit(0));
  process.once("SIGINT", () => process.exit(0));
}
