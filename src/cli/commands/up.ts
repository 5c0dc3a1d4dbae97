// tidegate up: starts the embedded cloud and stays until it is told to stop.
//   U1. One ready line on stdout, once requests are answered, and not before.
//   U2. A signal stops it cleanly: what was answered is on disk, and the exit code is 0.

import type { FaultSpec } from "../../broker/model/fault-plan.ts";
import { isLoopback } from "../../cloud/loopback.ts";
import type { CloudSetup } from "../../cloud/setup/cloud-setup.ts";
import type { Cloud } from "../../cloud/start-cloud.ts";
import { command, EXIT_OK, oneOf, text, toggle, UsageError, wholeNumber } from "../command.ts";
import { describeFailure, type Output } from "../screen/output.ts";
import { stopSignal } from "../stop-signals.ts";
import { version } from "../version.ts";
import { readJsonFile } from "../words/json-file.ts";

const DATA_FALLBACK = ".tidegate";
/** The same trouble is told once in this time, however many requests meet it. */
const REPEAT_MS = 5_000;

export const up = command({
  name: "up",
  summary: "Start the embedded cloud and print its endpoint.",
  flags: {
    port: wholeNumber("PORT", { min: 0, max: 65_535 }, "4566", "Port; 0 takes a free one."),
    host: text("ADDRESS", "127.0.0.1", "Address to listen on."),
    data: text("FOLDER", null, `Folder to keep everything in (default: ${DATA_FALLBACK}).`),
    memory: toggle("Keep everything in memory; nothing survives a stop."),
    clock: oneOf(["system", "virtual"], "system", "Virtual time moves only when told to."),
    "enforce-policies": toggle("Let queue policies decide what topics and buckets may deliver."),
    "event-bridge-queue": text("QUEUE", null, "Queue for what S3 sends to EventBridge."),
    setup: text("FILE", null, "Set-up to apply first: queues, topics, subscriptions, buckets."),
    faults: text("FILE", null, "Faults to begin with; they are never kept."),
    json: toggle("Print the ready line as JSON."),
  },
  async run({ flags, out }) {
    if (flags.memory && flags.data !== undefined) {
      throw new UsageError(
        "Choose --memory or --data: with --memory, nothing is kept in a folder.",
      );
    }
    const stopped = stopSignal();
    const host = flags.host ?? "127.0.0.1";
    if (!isLoopback(host)) out.note(exposureWarning(host));
    // Loaded here, so that help and refusals need not wait for it.
    const { startCloud } = await import("../../cloud/start-cloud.ts");
    const cloud = await startCloud({
      ...(flags.memory ? { memory: true } : { data: flags.data ?? DATA_FALLBACK }),
      port: flags.port ?? 0,
      host,
      clock: flags.clock ?? "system",
      enforcePolicies: flags["enforce-policies"] === true,
      ...eventBridgeOf(flags["event-bridge-queue"]),
      ...filesOf(flags),
      version: version(),
      onError: createTroubleTeller(out),
    });
    tellReady(cloud, out, { json: flags.json === true, folder: folderOf(flags) });
    await stopped;
    await cloud.close(); // U2
    return EXIT_OK;
  },
});

function eventBridgeOf(queue: string | undefined) {
  return queue === undefined ? {} : { eventBridgeQueue: queue };
}

/** startCloud checks what is in them, as it does for those who call it themselves. */
function filesOf({ setup, faults }: { setup?: string | undefined; faults?: string | undefined }) {
  const read = faults === undefined ? [] : readJsonFile(faults, "faults");
  const list = Array.isArray(read) ? read : [read];
  return {
    ...(setup === undefined ? {} : { setup: readJsonFile(setup, "setup") as CloudSetup }),
    faults: list as unknown as readonly FaultSpec[],
  };
}

function folderOf(flags: { memory?: boolean | undefined; data?: string | undefined }) {
  return flags.memory ? null : (flags.data ?? DATA_FALLBACK);
}

function tellReady(
  cloud: Cloud,
  out: Output,
  facts: { readonly json: boolean; readonly folder: string | null },
): void {
  const { endpoint, port } = cloud;
  const active = cloud.broker.faults.size;
  if (active > 0) out.note(faultsWarning(active, endpoint));
  if (facts.json) {
    const { folder: data } = facts;
    const ready = { ready: true, endpoint, port, data, pid: process.pid };
    out.line(JSON.stringify(active === 0 ? ready : { ...ready, faults: active }));
    return;
  }
  const place = facts.folder === null ? "in memory" : `data in ${facts.folder}`;
  out.line(`tidegate is ready at ${endpoint} (${place})`); // U1
  if (!out.terminal) return;
  out.note("");
  out.note("Try it (any credentials will do; stop with Ctrl-C):");
  out.note("  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_REGION=us-east-1");
  out.note(`  aws sqs create-queue --endpoint-url ${endpoint} --queue-name orders`);
  out.note(`  aws sqs list-queues --endpoint-url ${endpoint}`);
}

function faultsWarning(active: number, endpoint: string): string {
  const some = active === 1 ? "1 fault is" : `${active} faults are`;
  return `Warning: ${some} active, so that requests fail on purpose: ${endpoint}/_tidegate/faults`;
}

function exposureWarning(host: string): string {
  return (
    `Warning: listening on ${host}, not on loopback only. No credentials are checked: ` +
    "whoever reaches this port can read, change and delete everything."
  );
}

function createTroubleTeller(out: Output): (error: unknown) => void {
  let last = "";
  let lastAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const told = describeFailure(error);
    const now = performance.now();
    if (told === last && now - lastAt < REPEAT_MS) return;
    last = told;
    lastAt = now;
    out.note(told);
  };
}
