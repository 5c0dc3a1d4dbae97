// Lease thread: a lease renewer with its own connections. The parent sends orders; the thread
// reports lost leases and writes expiries to the board.

import "../../platform/quiet-warnings.ts"; // First: a thread warns on its own (W1 there).
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
  LeaseThreadEvent,
  LeaseThreadRequest,
} from "./lease-thread.ts";

const port = present(parentPort, "the port of a worker thread");
const { config, board: memory } = workerData as LeaseThreadData;
const board = new LeaseBoard(memory);
/** The slot of each lease on the board, and the receipt of each slot. */
const slots = new Map<string, number>();
const receipts = new Map<number, string>();

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
  const options = { migrate: false, ...(retentionMs !== undefined && { retentionMs }) };
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
        const slot = slots.get(receipt);
        if (slot !== undefined) board.write(slot, end);
      },
    },
  );
  port.on("message", async (text: string) => {
    const request = JSON.parse(text) as LeaseThreadRequest; // D4 of lease-thread.ts
    if (request.kind === "orders") {
      for (const order of request.orders) follow(renewer, order);
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

function follow(renewer: LeaseRenewer, order: LeaseOrder): void {
  if (order.kind === "hold") {
    const { receipt, slot, since } = order;
    slots.set(receipt, slot);
    receipts.set(slot, receipt);
    renewer.track({ receipt, since }, (reason) => report({ kind: "lost", receipt, reason }));
    return;
  }
  const receipt = present(receipts.get(order.slot), "the lease of a slot");
  switch (order.kind) {
    case "attach":
      renewer.attach(receipt, order.claim, order.since);
      return;
    case "detach":
      renewer.detach(receipt, order.claim);
      return;
    case "drop":
      renewer.release(receipt);
      slots.delete(receipt);
      receipts.delete(order.slot);
      return;
    default:
      unreachable(order);
  }
}

start().catch((error: unknown) => {
  if (!(error instanceof TidegateError)) throw error;
  report({ kind: "failed", code: error.code, message: error.message });
  port.close();
});
