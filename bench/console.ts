// The console benchmark: how long each view takes on a large ledger, and what an open console costs
// a consumer that runs beside it, in one run. `node bench/console.ts --help` lists the options.
//   C1. Rounds with the console open and closed alternate, so that both see the same machine.
//   C2. A missed target is reported, and fails the run only with --strict.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import { epochMs } from "../src/core/units.ts";
import { encodeDossier } from "../src/ingest/dead-letters/dossier.ts";
import { pipeline } from "../src/ingest/spec/define-pipeline.ts";
import { recordKey } from "../src/ledger/record-key.ts";
import { systemPorts } from "../src/platform/index.ts";
import type { Ledger } from "../src/ports/ledger.ts";
import type { RecordInput } from "../src/ports/record.ts";
import { type RunningDev, startDev } from "../src/run/dev/start-dev.ts";
import { openLedger } from "../src/run/open/open-ledger.ts";

const VIEW_MS_MAX = 1_000;
const LOSS_PERCENT_MAX = 3;
const BATCH = 100;
const SENT_AT_ONCE = 10;
const SENDERS = 8;
const LOOK_MS = 1_000;
const FINGERPRINTS = 20;
const SCOPE = { pipeline: "bench", generation: 0 };

const { values } = parseArgs({
  options: {
    records: { type: "string", default: "1000000" },
    "dead-letters": { type: "string", default: "100000" },
    messages: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    strict: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const spec = pipeline({
  name: SCOPE.pipeline,
  source: { queue: "bench", key: ({ id }: { readonly id: string }) => id },
  sink: () => undefined,
  handler: ({ body }, { emit }) => emit({ id: body.id }),
});

function inputOf(name: string, at: number): RecordInput {
  const eventTime = epochMs(at);
  const lane = { lane: "live", watermark: null } as const;
  const names = { eventId: null, source: "bench", dedupeKey: name, object: null };
  const sent = { sentAt: eventTime, messageId: name, traceId: null, runId: "bench" };
  return { kind: "own", ...names, ...sent, eventTime, partition: "bench", lane };
}

/** Writes committed records and dead letters as a pipeline would. */
async function fill(ledger: Ledger, records: number, deadLetters: number): Promise<void> {
  const start = systemPorts.clock.now();
  for (let at = 0; at < records; at += BATCH) {
    const names = Array.from({ length: Math.min(BATCH, records - at) }, (_, i) => `old-${at + i}`);
    const commits = names.map((name, index) => {
      const time = start - (records - at - index);
      const instant = epochMs(time);
      const times = { receivedAt: instant, startedAt: instant };
      const key = recordKey(SCOPE, name);
      return {
        key,
        owner: "bench",
        ...times,
        input: inputOf(name, time),
        digest: "d",
        effects: "{}",
      };
    });
    await ledger.commitDirect(SCOPE, commits);
  }
  for (let at = 0; at < deadLetters; at += BATCH) {
    const count = Math.min(BATCH, deadLetters - at);
    await ledger.fail(
      SCOPE,
      Array.from({ length: count }, (_, index) => deadLetter(at + index, start)),
    );
  }
}

function deadLetter(number: number, now: number) {
  const name = `dead-${number}`;
  const key = recordKey(SCOPE, name);
  const at = epochMs(now - number);
  const failure = {
    errorClass: "schema",
    fingerprint: `fingerprint-${number % FINGERPRINTS}`,
    message: "the amount is missing",
  };
  const body = encodeDossier({
    ...SCOPE,
    record_key: key,
    idempotency_key: name,
    business_key: name,
    queue: "bench",
    message_id: name,
    group_id: null,
    object: null,
    error_class: failure.errorClass,
    fingerprint: failure.fingerprint,
    message: failure.message,
    stack: "Error: the amount is missing\n    at handler (pipeline.ts:1:1)",
    attempts: 1,
    receive_count: 1,
    event_time: at,
    first_failed_at: at,
    last_failed_at: at,
    took_ms: 1,
    run_id: "bench",
    trace_id: null,
    payload: { id: name, amount: null },
    dead_letter: null,
  });
  const note = { kind: "dossier", name: key, at, count: 1, body } as const;
  const claim = { key, fence: null, owner: "bench", receivedAt: at, input: inputOf(name, at) };
  return { ...claim, permanent: true, failure, note };
}

const VIEWS = [
  "flow",
  "flow/history",
  "queues",
  "queues/bench/messages",
  "records",
  "records?outcome=dead-lettered",
  "records?search=old-123456",
  "records?search=nothing-has-this-name",
  "dead-letters",
  "time",
  "runs",
];

/** The time of each view, the slowest of all rounds. */
async function timeViews(endpoint: string): Promise<Map<string, number>> {
  const slowest = new Map<string, number>();
  for (const view of [...VIEWS, ...VIEWS]) {
    const startedAt = performance.now();
    const reply = await fetch(`${endpoint}/_tidegate/api/v1/${view}`);
    if (!reply.ok) throw new Error(`${view}: ${await reply.text()}`);
    await reply.arrayBuffer();
    slowest.set(view, Math.max(slowest.get(view) ?? 0, performance.now() - startedAt));
  }
  return slowest;
}

/** Messages per second from the first send to the last commit. */
async function drainRound(dev: RunningDev, client: SQSClient, round: string, messages: number) {
  const QueueUrl = `${dev.endpoint}/000000000000/bench`;
  const wanted = dev.snapshot().committed + messages;
  let next = 0;
  const startedAt = performance.now();
  const send = async () => {
    while (next < messages) {
      const from = next;
      next += SENT_AT_ONCE;
      const Entries = Array.from({ length: SENT_AT_ONCE }, (_, index) => {
        return { Id: `m${index}`, MessageBody: JSON.stringify({ id: `${round}-${from + index}` }) };
      });
      await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
  while (dev.snapshot().committed < wanted) await new Promise((wake) => setTimeout(wake, 5));
  return (messages * 1_000) / (performance.now() - startedAt);
}

/** A page that looks at one view after the other. */
function openPage(endpoint: string) {
  let isOpen = true;
  const look = async () => {
    while (isOpen) {
      for (const view of ["flow", "dead-letters", "records", "time"]) {
        await (await fetch(`${endpoint}/_tidegate/api/v1/${view}`)).arrayBuffer();
      }
      await new Promise((wake) => setTimeout(wake, LOOK_MS));
    }
  };
  const looking = look();
  return async () => {
    isOpen = false;
    await looking;
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(
      "node bench/console.ts [--records N] [--dead-letters N] [--messages N] [--rounds N]",
    );
    return 0;
  }
  const [records, deadLetters] = [Number(values.records), Number(values["dead-letters"])];
  const messages = Math.ceil(Number(values.messages) / SENT_AT_ONCE) * SENT_AT_ONCE;
  const data = mkdtempSync(join(tmpdir(), "tidegate-bench-console-"));
  const ledger = await openLedger(`sqlite:${join(data, "ledger.db")}`, systemPorts);
  console.error(`filling the ledger: ${records} records, ${deadLetters} dead letters`);
  await fill(ledger, records, deadLetters);
  await ledger.close();
  const settings = { data, port: 0, metricsPort: 0, logLevel: "error" } as const;
  const dev = await startDev(spec as never, settings);
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new SQSClient({ endpoint: dev.endpoint, region: "us-east-1", credentials });
  try {
    const slow = [...(await timeViews(dev.endpoint))].map(([view, ms]) => {
      console.log(`${view.padEnd(40)} ${ms.toFixed(0).padStart(6)} ms`);
      return ms > VIEW_MS_MAX;
    });
    const closed: number[] = [];
    const open: number[] = [];
    await drainRound(dev, client, "warm-up", messages);
    for (let round = 0; round < Number(values.rounds); round += 1) {
      closed.push(await drainRound(dev, client, `closed-${round}`, messages)); // C1
      const close = openPage(dev.endpoint);
      open.push(await drainRound(dev, client, `open-${round}`, messages));
      await close();
    }
    const lossPercent = 100 * (1 - median(open) / median(closed));
    console.log(`closed ${median(closed).toFixed(0)}/s, open ${median(open).toFixed(0)}/s`);
    console.log(`an open console costs ${lossPercent.toFixed(1)} % of throughput`);
    const missed = slow.includes(true) || lossPercent > LOSS_PERCENT_MAX;
    if (missed) console.error(`missed: ${VIEW_MS_MAX} ms per view, ${LOSS_PERCENT_MAX} % loss`);
    return missed && values.strict ? 1 : 0; // C2
  } finally {
    client.destroy();
    await dev.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

process.exitCode = await main();
