// tidegate up: starts the embedded cloud and runs it until a signal.
//   U1. It prints one ready line on stdout, and not before requests are answered.
//   U2. A signal stops it cleanly: everything that was acknowledged is on disk; the exit code is 0.
//   U3. A start that fails closes what it has opened and exits; it does not serve without a word.

import type { CloudOptions } from "../../../cloud/cloud-options.ts";
import { parseHostNames } from "../../../cloud/host-names.ts";
import { isLoopback } from "../../../cloud/loopback.ts";
import type { Cloud } from "../../../cloud/start-cloud.ts";
import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_OK, oneOf, text, toggle, UsageError, wholeNumber } from "../../command.ts";
import { readJsonFile } from "../../flags/json-file.ts";
import { describeFailure, type Output } from "../../screen/output.ts";
import { stopSignal } from "../../stop-signals.ts";
import { consoleFlags, maskFlag } from "./console.ts";

const BASE_HOST_DOC = SETTINGS.baseHost.doc;
const DATA_FALLBACK = ".tidegate";
/** The same failure is printed once in this time. */
const REPEAT_MS = 5_000;

export const up = command({
  name: "up",
  summary: "Start the embedded cloud and print its endpoint.",
  flags: {
    port: wholeNumber("PORT", { min: 0, max: 65_535 }, "4566", "Port; 0 picks a free one."),
    host: text("ADDRESS", "127.0.0.1", "Address to listen on."),
    auth: text(
      "FILE",
      null,
      "Keys that requests must be signed with; without it, anyone may call.",
    ),
    insecure: toggle("Listen beyond loopback without --auth."),
    "allow-host": text("NAME[,NAME]", null, "Further host names that clients may call it by."),
    "base-host": text("NAME", null, BASE_HOST_DOC),
    "allow-link-local": toggle(
      "Let topics deliver to link-local addresses, such as a metadata service.",
    ),
    data: text("FOLDER", null, `Data folder (default: ${DATA_FALLBACK}).`),
    memory: toggle("Keep all data in memory; a stop deletes it."),
    clock: oneOf(["system", "virtual"], "system", "Virtual time moves only on request."),
    "accept-clock": toggle("Believe the system clock, however far it is ahead of the data."),
    "enforce-policies": toggle("Enforce queue policies on deliveries of topics and buckets."),
    "event-bridge-queue": text("QUEUE", null, "Queue that receives the EventBridge events of S3."),
    setup: text("FILE", null, "Setup file to apply first: queues, topics, subscriptions, buckets."),
    faults: text("FILE", null, "Faults to start with; they are never stored."),
    ...consoleFlags,
    mask: maskFlag,
    json: toggle("Print the ready line as JSON."),
  },
  async run({ flags, out }) {
    if (flags.memory && flags.data !== undefined) {
      throw new UsageError("--memory stores nothing in a folder; use either --memory or --data");
    }
    const stopped = stopSignal();
    const host = flags.host ?? "127.0.0.1";
    const access = accessOf(flags, host, out);
    // Loaded here to keep help and usage errors fast.
    const [{ startCloud }, { writeEndpointFile }, { mountConsole }, { ledgerUrl }] =
      await Promise.all([
        import("../../../cloud/start-cloud.ts"),
        import("../../../run/open/endpoint-file.ts"),
        import("../../../console/mount-console.ts"),
        import("../../../run/open/find-server.ts"),
      ]);
    const cloud = await startCloud({
      ...(flags.memory ? { memory: true } : { data: flags.data ?? DATA_FALLBACK }),
      port: flags.port ?? 0,
      host,
      ...access,
      allowedHosts: parseHostNames(flags["allow-host"]),
      ...(flags["base-host"] !== undefined && { baseHost: flags["base-host"] }),
      allowLinkLocalEndpoints: flags["allow-link-local"] === true,
      clock: flags.clock ?? "system",
      acceptClock: flags["accept-clock"] === true,
      ...(flags["enforce-policies"] === true && { enforcePolicies: true }),
      ...eventBridgeOf(flags["event-bridge-queue"]),
      ...filesOf(flags),
      onError: createFailurePrinter(out),
    });
    const folder = folderOf(flags);
    const console = await mountConsole(cloud.inside, {
      endpoint: cloud.endpoint,
      region: undefined,
      ledger: folder === null ? null : ledgerUrl({ data: folder }),
      allowActions: flags["allow-actions"],
      token: flags["console-token"],
      traceUrl: flags["trace-url"],
      mask: flags.mask,
      onError: createFailurePrinter(out),
    }).catch(async (error: unknown) => {
      await cloud.close(); // U3
      throw error;
    });
    const removeFile = folder === null ? null : writeEndpointFile(folder, cloud.endpoint);
    const page = `${cloud.endpoint}${console.link()}`;
    const has = { hasToken: flags["console-token"] !== undefined, hasKeys: "auth" in access };
    printReady(cloud, out, { json: flags.json === true, folder, page, ...has });
    await stopped;
    removeFile?.();
    await console.close();
    await cloud.close(); // U2
    return EXIT_OK;
  },
});

function eventBridgeOf(queue: string | undefined) {
  return queue === undefined ? {} : { eventBridgeQueue: queue };
}

/** startCloud validates the contents. */
function filesOf({ setup, faults }: { setup?: string | undefined; faults?: string | undefined }) {
  const value = faults === undefined ? [] : readJsonFile(faults, "faults");
  const list = Array.isArray(value) ? value : [value];
  return {
    ...(setup === undefined
      ? {}
      : { setup: readJsonFile(setup, "setup") as NonNullable<CloudOptions["setup"]> }),
    faults: list as unknown as NonNullable<CloudOptions["faults"]>,
  };
}

function folderOf(flags: { memory?: boolean | undefined; data?: string | undefined }) {
  return flags.memory ? null : (flags.data ?? DATA_FALLBACK);
}

interface ReadyFacts {
  readonly json: boolean;
  /** Null in memory. */
  readonly folder: string | null;
  /** The address of the console, with a one-time code if there is a token. */
  readonly page: string;
  readonly hasToken: boolean;
  readonly hasKeys: boolean;
}

function printReady(cloud: Cloud, out: Output, facts: ReadyFacts): void {
  const { endpoint, port } = cloud;
  const active = cloud.broker.faults.size;
  if (active > 0) out.note(faultsWarning(active, endpoint));
  if (facts.json) {
    const { folder: data } = facts;
    const ready = { ready: true, endpoint, port, console: facts.page, data, pid: process.pid };
    out.line(JSON.stringify(active === 0 ? ready : { ...ready, faults: active }));
    return;
  }
  const storage = facts.folder === null ? "in memory" : `data in ${facts.folder}`;
  out.line(`tidegate is ready at ${endpoint} (${storage})`); // U1
  // A console with a token asks for this link, which nothing else prints.
  if (out.terminal || facts.hasToken) out.note(`Console: ${facts.page}`);
  if (!out.terminal) return;
  out.note("");
  const keys = facts.hasKeys ? "with a key of --auth" : "any credentials work";
  out.note(`Try it (${keys}; stop with Ctrl-C):`);
  if (!facts.hasKeys) {
    out.note("  export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_REGION=us-east-1");
  }
  out.note(`  aws sqs create-queue --endpoint-url ${endpoint} --queue-name orders`);
  out.note(`  aws sqs list-queues --endpoint-url ${endpoint}`);
}

function faultsWarning(active: number, endpoint: string): string {
  const some = active === 1 ? "1 fault is" : `${active} faults are`;
  return `Warning: ${some} active, requests fail on purpose: ${endpoint}/_tidegate/faults`;
}

/** Who may call; startCloud validates the keys. */
function accessOf(
  { auth, insecure = false }: { auth?: string | undefined; insecure?: boolean | undefined },
  host: string,
  out: Output,
) {
  if (auth !== undefined)
    return { auth: readJsonFile(auth, "auth") as unknown as NonNullable<CloudOptions["auth"]> };
  if (isLoopback(host)) return {};
  if (!insecure) throw new UsageError(exposureRefusal(host));
  out.note(exposureWarning(host));
  return { insecure };
}

function exposureRefusal(host: string): string {
  return (
    `--host ${host} lets other machines call, and no credentials are checked; ` +
    "add --auth with a file of keys, or --insecure"
  );
}

function exposureWarning(host: string): string {
  return (
    `Warning: listening on ${host}, not only on loopback. No credentials are checked: ` +
    "anyone who reaches this port can read, change and delete everything."
  );
}

function createFailurePrinter(out: Output): (error: unknown) => void {
  let last = "";
  let lastAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const message = describeFailure(error);
    const now = performance.now();
    if (message === last && now - lastAt < REPEAT_MS) return;
    last = message;
    lastAt = now;
    out.note(message);
  };
}
