// Million: the cost of a big backlog. One server holds it, a second one of the same kind holds a
// small backlog, and both get requests in turn.
//   M1. Memory is the difference between a warmed, empty server and the same one when full, divided
//       by the number of messages. The process reports it after garbage collection.
//   M2. Receives of both servers are timed in alternating blocks, one request at a time. After each
//       receive its message is deleted and another one sent, so that both backlogs keep their size.
//   M3. The folder is left as after a crash, and reused for the startup measurement.

import { askMemory } from "./child-server.ts";
import { drainAll } from "./drain.ts";
import { sendAll, type Target } from "./load.ts";
import type { BenchOptions, ServerName } from "./options.ts";
import type { RawConnection } from "./raw-connection.ts";
import { createQueue, expectWaiting, measuredArgs, openSession, type Session } from "./servers.ts";
import { callSqs } from "./sqs-request.ts";
import { median, percentile } from "./statistics.ts";

const BATCH = 10;
const GROUPS = 5_000;
const BODY_BYTES = 100;
const BLOCK = 50;
const FILL_MS_MAX = 600_000;
/** Fraction of the backlog that is sent and drained as a warm-up. */
export const WARM_UP_SHARE = 0.02;

export interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
}

export interface BytesEach {
  readonly rssBytes: number;
  readonly heldBytes: number;
}

interface Filled extends BytesEach {
  /** The highest resident size of the process so far. */
  readonly peakRssBytes: number;
}

export interface Million {
  readonly small: Latency;
  readonly big: Latency;
  readonly perMessage: BytesEach;
}

/** Sends `count` messages to a queue at full speed, and checks that it holds them. */
export async function fill(
  session: Session,
  target: Target,
  count: number,
  firstIndex = 0,
): Promise<void> {
  await sendAll(session.connections, {
    target,
    perRequest: BATCH,
    bodyBytes: BODY_BYTES,
    groups: GROUPS,
    messagesMax: count,
    msMax: FILL_MS_MAX,
    firstIndex,
  });
  await expectWaiting(session, target, count);
}

/** Sends and drains some messages, so that code and buffers are warm. M1 */
export async function warmUp(session: Session, queue: string, count: number): Promise<void> {
  const size = Math.ceil((count * WARM_UP_SHARE) / BATCH) * BATCH;
  const target = await createQueue(session, queue);
  await fill(session, target, size);
  await drainAll(session.connections, { target, firstIndex: 0, count: size });
}

/** Fills a warmed server and returns the memory per message. */
async function fillMeasured(session: Session, target: Target, count: number): Promise<Filled> {
  const before = await askMemory(session.server);
  await fill(session, target, count);
  const after = await askMemory(session.server);
  return {
    rssBytes: (after.rssBytes - before.rssBytes) / count,
    heldBytes: (after.heldBytes - before.heldBytes) / count,
    peakRssBytes: after.peakRssBytes,
  };
}

/** One timed receive; then its message is deleted and replaced by another. M2 */
async function timeReceive(connection: RawConnection, target: Target): Promise<number> {
  const QueueUrl = target.queueUrl;
  const startedAt = performance.now();
  const output = await callSqs(connection, target.port, "ReceiveMessage", {
    QueueUrl,
    MaxNumberOfMessages: 1,
  });
  const elapsedMs = performance.now() - startedAt;
  const [message] = (output.Messages ?? []) as { ReceiptHandle: string; Body: string }[];
  if (message === undefined) throw new Error("a receive from a full queue returned nothing");
  const { ReceiptHandle, Body } = message;
  await callSqs(connection, target.port, "DeleteMessage", { QueueUrl, ReceiptHandle });
  await callSqs(connection, target.port, "SendMessage", { QueueUrl, MessageBody: Body });
  return elapsedMs;
}

async function timeBlock(session: Session, target: Target, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index += 1) {
    samples.push(await timeReceive(session.control, target));
  }
  return samples;
}

const latencyOf = (samples: readonly number[]): Latency => ({
  medianMs: median(samples),
  p99Ms: percentile(samples, 99),
});

interface Side {
  readonly session: Session;
  readonly target: Target;
}

/** Times both sides in alternating blocks; the first pair of blocks warms up and is dropped. */
async function compare(small: Side, big: Side, samples: number): Promise<[Latency, Latency]> {
  const smallMs: number[] = [];
  const bigMs: number[] = [];
  await timeBlock(small.session, small.target, BLOCK);
  await timeBlock(big.session, big.target, BLOCK);
  while (bigMs.length < samples) {
    smallMs.push(...(await timeBlock(small.session, small.target, BLOCK)));
    bigMs.push(...(await timeBlock(big.session, big.target, BLOCK)));
  }
  return [latencyOf(smallMs), latencyOf(bigMs)];
}

/** Measures one kind of server. `folders`: of the big and of the small one. */
export async function runMillion(
  name: ServerName,
  folders: { readonly big: string; readonly small: string },
  options: BenchOptions,
  progress: (line: string) => void,
): Promise<Million> {
  const open = (folder: string) =>
    openSession(name, measuredArgs(name, folder), options.connections);
  const bigSession = await open(folders.big);
  const smallSession = await open(folders.small);
  try {
    for (const session of [bigSession, smallSession]) {
      await session.reconnect();
      await warmUp(session, "bench-warm-up", options.backlog);
    }
    await bigSession.reconnect();
    const big = { session: bigSession, target: await createQueue(bigSession, "bench-backlog") };
    const perMessage = await fillMeasured(bigSession, big.target, options.backlog);
    const mib = Math.round(perMessage.peakRssBytes / 1_024 ** 2);
    const each = Math.round(perMessage.rssBytes);
    progress(`${name}: filled with ${options.backlog}, ${each} B each, ${mib} MiB at most`);
    await smallSession.reconnect();
    const target = await createQueue(smallSession, "bench-backlog");
    await fill(smallSession, target, options.smallBacklog);
    const small = { session: smallSession, target };
    await bigSession.reconnect();
    const [smallLatency, bigLatency] = await compare(small, big, options.latencySamples);
    await expectWaiting(bigSession, big.target, options.backlog);
    progress(`${name}: receive ${smallLatency.medianMs.toFixed(3)} ms with a small backlog`);
    progress(`${name}: receive ${bigLatency.medianMs.toFixed(3)} ms with a big backlog`);
    return { small: smallLatency, big: bigLatency, perMessage };
  } finally {
    await bigSession.server.kill(); // M3
    await bigSession.end();
    await smallSession.end();
  }
}
