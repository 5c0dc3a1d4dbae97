// Serve console: the console as a function over HTTP, on what its server knows of a pipeline.

import { hostname } from "node:os";
import type { CloudContents } from "../operate/cloud/embedded-cloud.ts";
import { openWatch, type WatchOptions } from "../operate/pages/open-watch.ts";
import type { SourceOptions } from "../operate/sources.ts";
import { systemPorts } from "../platform/index.ts";
import { packageVersion } from "../platform/package-version.ts";
import { type ConsoleHttp, createConsoleHttp } from "./api/console-http.ts";
import { createPageFiles } from "./page-files.ts";

/** How a console is served. */
export interface ConsoleAccess {
  readonly allowActions?: boolean | undefined;
  /** Null or absent: no token, which works on loopback only. */
  readonly token?: string | null | undefined;
  readonly traceUrl?: string | undefined;
  /** Masks of the console, in addition to those of the pipeline. */
  readonly mask?: readonly string[] | undefined;
}

export interface ServedConsole extends WatchOptions {
  readonly cloud: CloudContents;
  readonly access: ConsoleAccess;
  /** Whether other machines can reach the server. */
  readonly exposed: boolean;
  /** Where actions find the queues. */
  readonly operator: Omit<SourceOptions, "ledger" | "pipeline">;
  readonly onError: (error: unknown) => void;
}

export async function serveConsole(options: ServedConsole): Promise<ConsoleHttp> {
  const { url, pipeline, cloud, mask, exposed, onError } = options;
  const { token = null, traceUrl, allowActions = false } = options.access;
  const source = {
    version: packageVersion(),
    embedded: !options.isBilled,
    readOnly: !allowActions,
    watch: await openWatch(options),
    cloud,
    views: mask.views,
    operator: { ...options.operator, ledger: url ?? undefined, pipeline: pipeline ?? undefined },
  };
  const served = { token, exposed, traceUrl, page: createPageFiles(), onError };
  return createConsoleHttp({ ...systemPorts, source }, { ...served, by: `console@${hostname()}` });
}
