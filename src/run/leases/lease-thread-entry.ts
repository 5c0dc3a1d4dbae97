// The thread that renews leases: a keeper with connections of its own, told by its parent what to
// hold. It tells what was lost, and writes on the board what may be relied on.

import { parentPort, workerData } from "node:worker_threads";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "../../aws/sqs/sqs-queue.ts";
import { present, unreachable } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import { openLedger } from "../open/open-ledger.ts";
import { localCredentials } from "../open/store-url.ts";
import { LeaseBoard, processClock } from "./lease-board.ts";
import type {
  LeaseOrder,
  LeaseThreadConfig,
  LeaseThreadData,
  LeaseThreadNews,
  LeaseThreadRequest,
} from "./lease-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { config, board: memory } = workerData as LeaseThreadData;
const board = new LeaseBoard(memory);
/** Where on the board each lease is. */
const slots = new Map<string, number>();

function tell(news: LeaseThreadNews): void {
  port.postMessage(news);
}

function clientOf({ endpoint, region, credentials }: LeaseThreadConfig["queue"]): SQSClient {
  return new SQSClient({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(credentials === undefined ? localCredentials(endpoint) : { credentials }),
  });
}

async function start(): Promise<void> {
  const { ledgerUrl, retentionMs, scope, visibilityMs, leaseMs } = config;
  const client = clientOf(config.queue);
  const queue = createSqsQueue({ client, queueUrl: config.queue.queueUrl });
  const ports = { clock: processClock, turn: systemTurn, random: systemRandom };
  const options = { migrate: false, ...(retentionMs !== undefined && { retentionMs }) };
  const ledger = ledgerUrl === null ? null : await openLedger(ledgerUrl, ports, options);
  const telemetry = {
    log: (level, message, fields = {}) => tell({ kind: "log", level, message, fields }),
  } satisfies Parameters<typeof createLeaseRenewer>[0]["telemetry"];
  const keeper = createLeaseRenewer(
    { queue, ledger, scope, clock: processClock, telemetry },
    {
      visibilityMs,
      leaseMs,
      onTerm(receipt, end) {
        const slot = slots.get(receipt);
        if (slot !== undefined) board.write(slot, end);
      },
    },
  );
  port.on("message", async (request: LeaseThreadRequest) => {
    if (request.kind === "orders") {
      for (const order of request.orders) follow(keeper, order);
      board.worked = request.number; // B1 of the board
      return;
    }
    await keeper.close();
    await ledger?.close();
    client.destroy();
    port.close();
  });
  tell({ kind: "ready" });
}

function follow(keeper: LeaseRenewer, order: LeaseOrder): void {
  const { receipt } = order;
  switch (order.kind) {
    case "hold":
      slots.set(receipt, order.slot);
      keeper.track({ receipt, since: order.since }, (reason) => {
        tell({ kind: "lost", receipt, reason });
      });
      return;
    case "attach":
      keeper.attach(receipt, order.claim, order.since);
      return;
    case "detach":
      keeper.detach(receipt, order.claim);
      return;
    case "drop":
      keeper.release(receipt);
      slots.delete(receipt);
      return;
    default:
      unreachable(order);
  }
}

start().catch((error: unknown) => {
  if (!(error instanceof TidegateError)) throw error;
  tell({ kind: "failed", code: error.code, message: error.message });
  port.close();
});
