// Throughput: messages per second of each server, in interleaved rounds.
//   T1. Servers take turns inside a round, and rounds are repeated, so that a slow minute of the
//       machine affects all of them; the median of the rounds counts. Every second round reverses
//       their order, because a server still cleans up after its row while the next one is measured.
//   T2. Only one server is under load at any time; the others idle.
//   T3. After each send the queue must hold what was acknowledged, and each cycle must return every
//       message once; otherwise the run fails.
//   T4. The generator's own processor time is measured as well: near 1, the generator is the limit
//       and not the server, and the table says so.
//   T5. The server's processor time per message varies less than its rate on a busy machine.

import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicros } from "./child-server.ts";
import { drainAll } from "./drain.ts";
import { type SendPlan, sendAll, type Target } from "./load.ts";
import type { BenchOptions, ServerName } from "./options.ts";
import {
  createQueue,
  deleteQueue,
  expectWaiting,
  type Session,
  subscribeQueue,
} from "./servers.ts";
import { median } from "./statistics.ts";

export const ROWS = ["send", "batch", "cycle", "fifo send", "fifo cycle", "publish"] as const;
export type Row = (typeof ROWS)[number];

/** Groups of the FIFO queues: many more than connections can block at once. */
const GROUPS = 5_000;
const BATCH = 10;
const SETTLE_MS = 100;
const CYCLES_MAX = 12;
const SEND_MESSAGES_MAX = 400_000;

export interface Sample {
  readonly perSecond: number;
  /** Share of one processor that the load generator used. */
  readonly generatorShare: number;
  /** Processor time of the server, all threads, in microseconds per message (T5). */
  readonly serverMicros: number;
}

export type Throughput = Partial<Record<ServerName, Partial<Record<Row, Sample>>>>;

type Work = () => Promise<{ readonly messages: number; readonly elapsedMs: number }>;

async function measure({ server }: Session, work: Work): Promise<Sample> {
  const serverBefore = cpuMicros(server);
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const { messages, elapsedMs } = await work();
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - startedAt;
  return {
    perSecond: (messages / elapsedMs) * 1_000,
    generatorShare: (user + system) / 1_000 / wallMs,
    serverMicros: (cpuMicros(server) - serverBefore) / messages,
  };
}

function planFor(target: Target, options: BenchOptions, perRequest: number): SendPlan {
  return {
    target,
    perRequest,
    bodyBytes: options.bodyBytes,
    groups: GROUPS,
    messagesMax: SEND_MESSAGES_MAX,
    msMax: options.windowMs,
    firstIndex: 0,
  };
}

async function measureSend(
  session: Session,
  options: BenchOptions,
  queue: string,
  perRequest: number,
  publish = false,
): Promise<Sample> {
  const target = await createQueue(session, queue);
  const topicArn = publish ? await subscribeQueue(session, target) : undefined;
  const plan = { ...planFor(target, options, perRequest), ...(topicArn && { topicArn }) };
  let sent = 0;
  const sample = await measure(session, async () => {
    const done = await sendAll(session.connections, plan);
    sent = done.messages;
    return done;
  });
  if (session.name === "floor") return sample;
  await expectWaiting(session, target, sent); // T3
  await deleteQueue(session, target);
  await sleep(SETTLE_MS);
  return sample;
}

/** Fills (not measured) and drains (measured) until the drains have lasted a window. */
async function measureCycle(
  session: Session,
  options: BenchOptions,
  queue: string,
): Promise<Sample> {
  const target = await createQueue(session, queue);
  let messages = 0;
  let elapsedMs = 0;
  let share = 0;
  let serverMicros = 0;
  let firstIndex = 0;
  for (let cycle = 0; cycle < CYCLES_MAX && elapsedMs < options.windowMs; cycle += 1) {
    const plan = planFor(target, options, BATCH);
    const messagesMax = options.cycleMessages;
    const filled = await sendAll(session.connections, { ...plan, firstIndex, messagesMax });
    const count = filled.messages;
    const sample = await measure(session, async () => {
      const drained = await drainAll(session.connections, { target, firstIndex, count });
      messages += drained.messages;
      elapsedMs += drained.elapsedMs;
      return drained;
    });
    share = Math.max(share, sample.generatorShare);
    serverMicros += sample.serverMicros * count;
    firstIndex += count;
  }
  await expectWaiting(session, target, 0); // T3
  await deleteQueue(session, target);
  await sleep(SETTLE_MS);
  const perSecond = (messages / elapsedMs) * 1_000;
  return { perSecond, generatorShare: share, serverMicros: serverMicros / messages };
}

async function measureRow(
  session: Session,
  options: BenchOptions,
  row: Row,
  round: number,
): Promise<Sample | null> {
  const queue = `bench-${row.replace(" ", "-")}-${round}`;
  if (row === "send") return measureSend(session, options, queue, 1);
  if (row === "batch") return measureSend(session, options, queue, BATCH);
  if (row === "publish") {
    // Signed notifications in envelopes, which a topic sends by default.
    const publishes = session.name === "ours" || session.name === "earlier";
    return publishes ? measureSend(session, options, queue, 1, true) : null;
  }
  if (session.name === "floor") return null;
  if (row === "cycle") return measureCycle(session, options, queue);
  if (row === "fifo send") return measureSend(session, options, `${queue}.fifo`, 1);
  return measureCycle(session, options, `${queue}.fifo`);
}

/** Runs a warm-up and all rounds over all sessions. */
export async function runThroughput(
  sessions: readonly Session[],
  options: BenchOptions,
  progress: (line: string) => void,
): Promise<Throughput> {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round <= options.rounds; round += 1) {
    const warmUp = round === 0;
    const scaled = warmUp ? { ...options, windowMs: options.windowMs / 3 } : options;
    const ordered = round % 2 === 0 ? sessions : sessions.toReversed(); // T1
    for (const row of ROWS) {
      for (const session of ordered) {
        await session.reconnect();
        const sample = await measureRow(session, scaled, row, round); // T1, T2
        if (sample === null || warmUp) continue;
        const key = `${session.name}/${row}`;
        samples.set(key, [...(samples.get(key) ?? []), sample]);
        const share = Math.round(sample.generatorShare * 100);
        const rate = `${Math.round(sample.perSecond)}/s, ${sample.serverMicros.toFixed(1)} us`;
        progress(`round ${round} ${key}: ${rate}, generator ${share} %`);
      }
    }
  }
  const result: Throughput = {};
  for (const [key, all] of samples) {
    const [name, row] = key.split("/") as [ServerName, Row];
    const perSecond = median(all.map((sample) => sample.perSecond));
    const generatorShare = median(all.map((sample) => sample.generatorShare));
    const serverMicros = median(all.map((sample) => sample.serverMicros));
    result[name] = { ...result[name], [row]: { perSecond, generatorShare, serverMicros } };
  }
  return result;
}
