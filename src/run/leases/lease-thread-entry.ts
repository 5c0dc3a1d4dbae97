// Lease thread: a lease renewer with its own connections. The parent sends orders; the thread
// reports lost leases and writes expiries to the board.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
import { parentPort, workerData } from "node:worker_threads";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "../../aws/sqs/sqs-queue.ts";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import { createLeaseRenewer } from "../../ingest/running/lease-renewer.ts";
import { systemRandom } from "../../platform/system-random.ts";
import { systemTurn } from "../../platform/system-turn.ts";
import { openLedger } from "../open/open-ledger.ts";
import { localCredentials } from "../open/store-url.ts";
import { LeaseBoard, processClock } from "./lease-board.ts";
import { LeaseOrders } from "./lease-orders.ts";
import type {
  LeaseThreadConfig,
  LeaseThreadData,
  LeaseThreadEvent,
  LeaseThreadRequest,
} from "./lease-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { config, board: memory } = workerData as LeaseThreadData;
const board = new LeaseBoard(memory);

function report(event: LeaseThreadEvent): void {
  port.postMessage(event);
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
  const options = { create: false, ...(retentionMs !== undefined && { retentionMs }) };
  const ledger = ledgerUrl === null ? null : await openLedger(ledgerUrl, ports, options);
  const telemetry = {
    log: (level, message, fields = {}) => report({ kind: "log", level, message, fields }),
  } satisfies Parameters<typeof createLeaseRenewer>[0]["telemetry"];
  const renewer = createLeaseRenewer(
    { queue, ledger, scope, clock: processClock, telemetry },
    {
      visibilityMs,
      leaseMs,
      onTerm(receipt, end) {
        const slot = orders.slotOf(receipt);
        if (slot !== undefined) board.write(slot, end);
      },
    },
  );
  const orders = new LeaseOrders(renewer, (receipt, reason) =>
    report({ kind: "lost", receipt, reason }),
  );
  port.on("message", async (text: string) => {
    const request = JSON.parse(text) as LeaseThreadRequest; // D4 of lease-thread.ts
    if (request.kind === "orders") {
      for (const order of request.orders) orders.follow(order);
      board.worked = request.number; // B1 of the board
      return;
    }
    await renewer.close();
    await ledger?.close();
    client.destroy();
    port.close();
  });
  report({ kind: "ready" });
}

start().catch((error: unknown) => {
  if (!(error instanceof TidegateError)) throw error;
  report({ kind: "failed", code: error.code, message: error.message });
  port.close();
});
