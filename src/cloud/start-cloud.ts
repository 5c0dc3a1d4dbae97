// The embedded cloud, put together: store, engine, HTTP function, listener. `tidegate up` and the
// library both start it, so that tests run the production code.
//   G1. If starting fails, everything that was started is stopped: no lock and no port stays taken.
//   G2. close() answers requests in flight, then closes the store. It is idempotent.
//   G3. A setup is applied before the first response, so every client finds all of its resources.
//       Links in notifications need the port, so requests wait at the gate until then.

import type { Broker } from "../broker/engine/broker.ts";
import { createBroker } from "../broker/engine/create-broker.ts";
import { createFaultyBroker } from "../broker/engine/request-faults.ts";
import { createBrokerHttp, wantsStream } from "../broker/http.ts";
import type { FaultSpec } from "../broker/model/fault-plan.ts";
import { guardHosts, type HostGuardOptions } from "../broker/wire/protocol/host-guard.ts";
import { TidegateError } from "../core/errors.ts";
import { createRsaSigner } from "../platform/certificate/rsa-signer.ts";
import { createHttpListener } from "../platform/http/http-listener.ts";
import { createHttpClient } from "../platform/http/node-http-client.ts";
import { printError } from "../platform/print-error.ts";
import { systemClock } from "../platform/system-clock.ts";
import { systemRandom } from "../platform/system-random.ts";
import { systemTurn } from "../platform/system-turn.ts";
import type { BlobStore } from "../ports/blob-store.ts";
import type { BrokerStore } from "../ports/broker-store.ts";
import type { Clock } from "../ports/clock.ts";
import type { ObjectSource } from "../ports/object-source.ts";
import { checkBlobFolder, createFileBlobStore } from "../stores/files/blob-store.ts";
import { createMemoryBlobStore } from "../stores/memory/blob-store.ts";
import { createMemoryBrokerStore } from "../stores/memory/broker-store.ts";
import { createSqliteBrokerStore } from "../stores/sqlite/broker/broker-store.ts";
import { createBrokerObjects } from "./broker-objects.ts";
import { isLoopback } from "./loopback.ts";
import { createGate } from "./request-gate.ts";
import type { CloudSetup } from "./setup/cloud-setup.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

const PORT_MAX = 65_535;
/** The current version of S3; consumers should accept any minor version of 2. */
const EVENT_VERSION = "2.6";

/** Options of `startCloud`; without any, it runs in memory on a free port. */
export interface CloudOptions {
  /** Keeps everything in memory. Default: true if there is no `data` folder. */
  readonly memory?: boolean;
  /** Folder for the durable data. */
  readonly data?: string;
  /** Default: 0, which chooses a free port. */
  readonly port?: number;
  readonly host?: string;
  /** "virtual": time only moves with `clock.advance`. Default: "system". */
  readonly clock?: "system" | "virtual";
  readonly region?: string;
  readonly account?: string;
  /** The eventVersion of S3 events, to test consumers with older versions. */
  readonly s3EventVersion?: string;
  /** Queue that receives the EventBridge events of buckets that have EventBridge enabled. */
  readonly eventBridgeQueue?: string;
  /**
   * Whether queue policies restrict deliveries from topics and buckets. Default: false. Policies
   * are then stored and returned, but every topic and bucket may deliver to every queue.
   */
  readonly enforcePolicies?: boolean;
  /**
   * Queues, topics, subscriptions and buckets to create before the first response. The setup is
   * validated as a whole, and existing resources are not changed.
   */
  readonly setup?: CloudSetup;
  /** Names other than loopback names and IP addresses that clients may call it by (Host header). */
  readonly allowedHosts?: readonly string[];
  /** Lets topics deliver to http endpoints on link-local addresses. Default: false. */
  readonly allowLinkLocalEndpoints?: boolean;
  /** Initial faults; `/_tidegate/faults` changes them. Their targets need not exist yet. */
  readonly faults?: readonly FaultSpec[];
  /** The version that `/_tidegate/health` reports. */
  readonly version?: string;
  /** Called for every failure that a client did not cause. Default: console.error. */
  readonly onError?: (error: unknown) => void;
  /** Maximum number of pages of the data file; only for tests of a full disk. */
  readonly dataPagesMax?: number;
}

/** A started embedded cloud. Disposing it closes it. */
export interface Cloud extends AsyncDisposable {
  /** The URL for clients: `http://host:port`. */
  readonly endpoint: string;
  readonly port: number;
  readonly clock: Clock;
  readonly broker: Broker;
  /** Reads the cloud's objects, pinned to the versions in events, without HTTP. */
  readonly objects: ObjectSource;
  close(): Promise<void>;
}

export interface VirtualCloud extends Cloud {
  readonly clock: VirtualClock;
}

/** Starts an embedded S3, SNS and SQS in this process and resolves once it answers requests. */
export function startCloud(
  options: CloudOptions & { readonly clock: "virtual" },
): Promise<VirtualCloud>;
export function startCloud(options?: CloudOptions): Promise<Cloud>;
export async function startCloud(options: CloudOptions = {}): Promise<Cloud> {
  checkOptions(options);
  const faults = await faultsOf(options);
  const applyPrepared =
    options.setup === undefined ? null : await scheduleSetup(options.setup, options);
  const { host = "127.0.0.1", port = 0 } = options;
  const onError = options.onError ?? printError;
  const store = openStore(options);
  let broker: Broker | null = null;
  let blobs: BlobStore | null = null;
  let closeListener: (() => Promise<void>) | null = null;
  try {
    const virtualClock = options.clock === "virtual" ? virtualClockFor(() => broker) : undefined;
    const clock = virtualClock ?? systemClock;
    if (options.data !== undefined) checkBlobFolder(options.data);
    const engine = await openBroker(store, clock, options, onError);
    broker = createFaultyBroker(engine); // For callers in this process; HTTP injects per request.
    blobs = await openBlobs(options, onError);
    const s3 = s3ContextOf(blobs, clock, options);
    const { version } = options;
    const address = { endpoint: "http://localhost" }; // Until the port is bound.
    const handler = createBrokerHttp(engine, {
      onError,
      virtualClock,
      version,
      s3,
      get hostFallback() {
        return new URL(address.endpoint).host;
      },
    });
    const gate = createGate(guardHosts(handler, hostGuardOf(options)));
    const streams = wantsStream(broker);
    const listener = createHttpListener(gate.handler, {
      onError,
      wantsStream: streams,
      answersText: (head) => !streams(head), // Everything except S3 does.
    });
    closeListener = listener.close;
    const chosenPort = await listener.listen(port, host);
    const endpoint = endpointOf(host, chosenPort);
    address.endpoint = endpoint;
    await applyPrepared?.(endpoint, broker); // G3
    for (const spec of faults) broker.faults.put(spec);
    gate.open();
    void blobs.sweep((blob) => store.objects.hasBlob(blob)).catch(onError);
    return assemble(broker, blobs, clock, endpoint, chosenPort, listener.close);
  } catch (error) {
    await closeListener?.();
    await blobs?.close();
    await (broker ?? store).close(); // G1
    throw error;
  }
}

/** Validates a setup and returns a function that applies it. Loads the code only if needed. */
async function scheduleSetup(value: CloudSetup, options: CloudOptions) {
  const { setupContext, prepareSetup } = await import("./setup/prepare-setup.ts");
  const { applySetup } = await import("./setup/apply-setup.ts");
  const setup = await prepareSetup(value, settingsOf(options));
  return (endpoint: string, broker: Broker) =>
    applySetup(setup, setupContext(settingsOf(options), endpoint), broker);
}

function openBlobs(
  options: CloudOptions,
  onError: (error: unknown) => void,
): Promise<BlobStore> | BlobStore {
  if (options.data === undefined) return createMemoryBlobStore();
  return createFileBlobStore({ folder: options.data, onError });
}

function s3ContextOf(blobs: BlobStore, clock: Clock, options: CloudOptions) {
  return {
    blobs,
    now: () => clock.now(),
    eventVersion: settingsOf(options).s3EventVersion,
    eventBridgeQueue: settingsOf(options).eventBridgeQueue,
  };
}

function openStore(options: CloudOptions): BrokerStore {
  if (options.data === undefined) return createMemoryBrokerStore();
  const { data: folder, dataPagesMax: pageCountMax } = options;
  return createSqliteBrokerStore({
    folder,
    threadAhead: true,
    ...(pageCountMax && { pageCountMax }),
  });
}

function openBroker(
  store: BrokerStore,
  clock: Clock,
  options: CloudOptions,
  onError: (error: unknown) => void,
): Promise<Broker> {
  const { account, region, enforcePolicies } = settingsOf(options);
  const ports = {
    store,
    clock,
    random: systemRandom,
    turn: systemTurn,
    signer: createRsaSigner(),
    http: createHttpClient({ allowLinkLocal: options.allowLinkLocalEndpoints === true }),
    onError,
  };
  return createBroker(ports, { account, region, enforcePolicies });
}

function settingsOf(options: CloudOptions) {
  const { account = "000000000000", region = "us-east-1", enforcePolicies = false } = options;
  const { s3EventVersion = EVENT_VERSION, eventBridgeQueue = null } = options;
  return { account, region, enforcePolicies, s3EventVersion, eventBridgeQueue };
}

function virtualClockFor(broker: () => Broker | null): VirtualClock {
  // Two turns: work that a sleeper starts needs one turn to reach the engine.
  const turn = () => new Promise<void>((resolve) => systemTurn.afterTurn(resolve));
  const settled = async () => {
    await turn();
    await broker()?.idle();
    await turn();
  };
  return createVirtualClock({ startAt: systemClock.now(), settled });
}

function assemble(
  broker: Broker,
  blobs: BlobStore,
  clock: Clock,
  endpoint: string,
  port: number,
  closeListener: () => Promise<void>,
): Cloud {
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= closeListener()
      .then(() => blobs.close())
      .then(() => broker.close()); // G2
    return closed;
  };
  return {
    endpoint,
    port,
    clock,
    broker,
    objects: createBrokerObjects({ broker, blobs }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function hostGuardOf({ host = "127.0.0.1", allowedHosts = [] }: CloudOptions): HostGuardOptions {
  return { loopback: isLoopback(host), allowedHosts: [host, ...allowedHosts] };
}

/** Clients cannot call a wildcard address, but they can call loopback. */
function endpointOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

function checkOptions(options: CloudOptions): void {
  const { memory, data, port = 0, clock = "system", account, region } = options;
  if (memory === true && data !== undefined) {
    refuse("memory and data exclude each other; choose one of them");
  }
  if (memory === false && data === undefined) refuse("memory: false needs a data folder; set data");
  if (data === "") refuse("data is empty; set the path of a folder");
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    refuse(`invalid port ${port}; expected an integer from 0 to ${PORT_MAX}`);
  }
  if (clock !== "system" && clock !== "virtual") {
    refuse(`unknown clock ${JSON.stringify(clock)}; expected "system" or "virtual"`);
  }
  if (account !== undefined && !/^\d{12}$/.test(account)) {
    refuse(`invalid account "${account}"; expected 12 digits`);
  }
  const { s3EventVersion, eventBridgeQueue } = options;
  if (s3EventVersion !== undefined && !/^\d+\.\d+$/.test(s3EventVersion)) {
    refuse(`invalid s3EventVersion "${s3EventVersion}"; expected two numbers such as "2.6"`);
  }
  if (eventBridgeQueue?.endsWith(".fifo")) {
    refuse(`the EventBridge queue "${eventBridgeQueue}" cannot be FIFO; name a standard queue`);
  }
  if (region !== undefined && !/^[a-z\d-]{1,32}$/.test(region)) {
    refuse(`invalid region "${region}"; expected lower-case letters, digits and hyphens`);
  }
}

async function faultsOf({ faults = [] }: CloudOptions): Promise<readonly FaultSpec[]> {
  if (Array.isArray(faults) && faults.length === 0) return []; // Avoids loading their code.
  const { readFaultSpecs } = await import("../broker/wire/faults/fault-specs.ts");
  const read = readFaultSpecs(faults);
  return read.ok ? read.value : refuse(read.fault.join("\n"));
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
