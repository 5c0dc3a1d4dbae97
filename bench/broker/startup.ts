// Startup: the time from the spawn of the process to its ready line, and to its first response.

import { startChild } from "./child-server.ts";
import type { ServerName } from "./options.ts";
import { openConnection } from "./raw-connection.ts";
import { freshFolder, removeFolder, serverArgs } from "./servers.ts";
import { callSqs } from "./sqs-request.ts";
import { median } from "./statistics.ts";

export interface Startup {
  readonly readyMs: number;
  readonly firstReplyMs: number;
}

/** Starts once on `folder` and stops cleanly again. */
export async function timeStart(name: ServerName, folder: string): Promise<Startup> {
  const startedAt = performance.now();
  const server = await startChild({ args: serverArgs(name, folder) });
  try {
    const connection = await openConnection(server.port);
    await callSqs(connection, server.port, "ListQueues", {});
    const firstReplyMs = performance.now() - startedAt;
    connection.close();
    return { readyMs: server.readyMs, firstReplyMs };
  } finally {
    await server.stop();
  }
}

/** The median of several starts, one by one. */
function medianOf(starts: readonly Startup[]): Startup {
  return {
    readyMs: median(starts.map((start) => start.readyMs)),
    firstReplyMs: median(starts.map((start) => start.firstReplyMs)),
  };
}

/** Starts on an empty folder each time. */
export async function timeEmptyStarts(
  name: ServerName,
  dir: string,
  count: number,
): Promise<Startup> {
  const starts: Startup[] = [];
  for (let index = 0; index < count; index += 1) {
    const folder = freshFolder(dir);
    try {
      starts.push(await timeStart(name, folder));
    } finally {
      removeFolder(folder);
    }
  }
  return medianOf(starts);
}

/** Starts on a folder with data: first after a crash, then after clean stops. */
export async function timeFullStarts(
  name: ServerName,
  folder: string,
  count: number,
): Promise<{ readonly afterCrash: Startup; readonly afterStop: Startup }> {
  const afterCrash = await timeStart(name, folder);
  const starts: Startup[] = [];
  for (let index = 0; index < count; index += 1) starts.push(await timeStart(name, folder));
  return { afterCrash, afterStop: medianOf(starts) };
}
