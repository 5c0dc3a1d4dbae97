// HTTP: Tidegate's consumer against sqs-consumer, each in its own process, on one durable broker in
// another process.
//   H1. Contestants take turns inside a round (A B C A B C ...), so that a slow minute of the
//       machine slows all of them; a warm-up round is dropped.
//   H2. Each contestant gets the same messages from its own queue, filled before the clock runs,
//       and must leave it empty.

import { join } from "node:path";
import {
  createQueue,
  expectWaiting,
  openSession,
  type Session,
  serverArgs,
} from "../broker/servers.ts";
import { callSqs } from "../broker/sqs-request.ts";
import { median } from "../broker/statistics.ts";
import type { ConsumerConfig, Contestant } from "./consumer-process.ts";
import { type RunningContestant, startContestant } from "./contestant.ts";
import type { RoundReport } from "./gated-queue.ts";
import type { IngestOptions } from "./options.ts";
import { bodyOf } from "./workload.ts";

export const CONTESTANTS = ["ours", "ours-receipt", "ours-ten", "batch", "default"] as const;

export interface Rate {
  readonly medianPerSecond: number;
  readonly bestPerSecond: number;
  /** Processor time of the consumer's process, in microseconds, per message; the median. */
  readonly cpuMicros: number;
  readonly requestsPerMessage: number;
}

export type HttpResults = Partial<Record<Contestant, Rate>>;

const BATCH = 10;
/** The default mode is so slow that a fraction of the messages takes as long. */
const DEFAULT_MODE_SHARE = 10;

interface Entrant {
  readonly name: Contestant;
  readonly target: Awaited<ReturnType<typeof createQueue>>;
  readonly consumer: RunningContestant;
  readonly reports: RoundReport[];
  sent: number;
}

/** The result of rounds of `count` messages. */
export function rateOf(reports: readonly RoundReport[], count: number): Rate {
  const rates = reports.map(({ elapsedMs }) => (count / elapsedMs) * 1_000);
  const asked = reports.map(({ requests }) => Object.values(requests).reduce((a, b) => a + b, 0));
  return {
    medianPerSecond: median(rates),
    bestPerSecond: Math.max(...rates),
    cpuMicros: median(reports.map(({ cpuMs }) => (cpuMs * 1_000) / count)),
    requestsPerMessage: median(asked) / count,
  };
}

function countOf(name: Contestant, { messages }: IngestOptions): number {
  return name === "default" ? Math.ceil(messages / DEFAULT_MODE_SHARE) : messages;
}

async function fill(session: Session, entrant: Entrant, count: number): Promise<void> {
  const { port, queueUrl: QueueUrl } = entrant.target;
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    const Entries = Array.from({ length: size }, (_, at) => ({
      Id: `${at}`,
      MessageBody: bodyOf("claim", entrant.sent + from + at),
    }));
    await callSqs(session.control, port, "SendMessageBatch", { QueueUrl, Entries });
  }
  entrant.sent += count;
  await expectWaiting(session, entrant.target, count);
}

async function openEntrant(
  session: Session,
  name: Contestant,
  options: IngestOptions,
  dir: string,
) {
  const target = await createQueue(session, `bench-${name}`);
  const config: ConsumerConfig = {
    contestant: name,
    endpoint: `http://127.0.0.1:${target.port}`,
    queueUrl: target.queueUrl,
    folder: join(dir, name),
    concurrency: options.concurrency,
  };
  const consumer = await startContestant("./consumer-process.ts", config);
  return { name, target, consumer, reports: [], sent: 0 } satisfies Entrant;
}

export async function runHttp(
  options: IngestOptions,
  folder: string,
  progress: (line: string) => void,
): Promise<HttpResults> {
  const session = await openSession("ours", serverArgs("ours", join(folder, "broker")), 1);
  const entrants: Entrant[] = [];
  try {
    for (const name of CONTESTANTS)
      entrants.push(await openEntrant(session, name, options, folder));
    for (let round = 0; round <= options.rounds; round += 1) {
      for (const entrant of entrants) {
        await session.reconnect();
        const count = countOf(entrant.name, options);
        await fill(session, entrant, count); // H2
        const report = await entrant.consumer.round(count); // H1
        await expectWaiting(session, entrant.target, 0);
        if (round === 0) continue;
        entrant.reports.push(report);
        const { medianPerSecond, cpuMicros } = rateOf([report], count);
        const figures = `${Math.round(medianPerSecond)}/s, ${Math.round(cpuMicros)} us of CPU each`;
        progress(`http round ${round} ${entrant.name}: ${figures}`);
      }
    }
    return Object.fromEntries(
      entrants.map(({ name, reports }) => [name, rateOf(reports, countOf(name, options))]),
    );
  } finally {
    for (const { consumer } of entrants) await consumer.end();
    await session.end();
  }
}
