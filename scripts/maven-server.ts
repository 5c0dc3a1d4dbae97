// Maven server: a Java server from Maven Central, with everything it needs at runtime.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import {
  cached,
  fetchStep,
  type LocalServer,
  type Missing,
  startServer,
  works,
} from "./local-server.ts";

export interface MavenArtifact {
  /** Name of its folder in the cache, without the version. */
  readonly folder: string;
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
}

export interface MavenServer extends MavenArtifact {
  readonly main: string;
  /** System properties, by the folder with the jars and the port. */
  readonly properties: (jars: string, port: number) => Readonly<Record<string, string>>;
  readonly args: (port: number) => readonly string[];
}

const COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
/** The server runs for seconds, too short for an optimising compiler to pay off. */
const SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/** The folder with the jars, downloaded if needed. */
export function fetchJars({ folder, group, artifact, version }: MavenArtifact): string | Missing {
  return cached(`${folder}-${version}`, (work) => {
    if (!works("mvn", "--version")) {
      return { missing: "Maven, which downloads it, is not installed" };
    }
    const dependency =
      `<groupId>${group}</groupId><artifactId>${artifact}</artifactId>` +
      `<version>${version}</version>`;
    writeFileSync(
      join(work, "pom.xml"),
      `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
      <groupId>dev.tidegate</groupId><artifactId>${folder}</artifactId><version>1</version>
      <dependencies><dependency>${dependency}</dependency></dependencies></project>`,
    );
    const args = ["-B", "-q", COPY, "-DoutputDirectory=jars", "-DincludeScope=runtime"];
    const fetched = fetchStep("mvn", args, work);
    return fetched ? join(work, "jars") : { missing: "Maven could not download it" };
  });
}

/** Starts the server on a free port. */
export async function startMavenServer(server: MavenServer): Promise<LocalServer | Missing> {
  if (!works("java", "-version")) return { missing: "Java, which runs it, is not installed" };
  const jars = fetchJars(server);
  if (typeof jars !== "string") return jars;
  const port = await freePort();
  const properties = Object.entries(server.properties(jars, port));
  const args = [
    ...SHORT_LIVED,
    ...properties.map(([name, value]) => `-D${name}=${value}`),
    "-cp",
    `${jars}/*`,
    server.main,
    ...server.args(port),
  ];
  return startServer({ program: "java", args, port });
}
