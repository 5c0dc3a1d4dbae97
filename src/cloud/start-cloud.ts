// The embedded cloud, put together: store, engine, HTTP function, listener. `tidegate up` and the
// library start this one, so that a test proves what runs.
//   G1. When starting fails, everything that had been started is stopped: no lock, no port is kept.
//   G2. close() answers what is under way, then closes the store; it may be called more than once.
//   G3. A set-up is done before the first request is answered: whoever gets an answer finds all of
//       it. Links in notifications need the port, so that requests wait at the gate meanwhile.

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
/** What S3 writes now; consumers are to take any minor version of major 2. */
const EVENT_VERSION = "2.6";

export interface CloudOptions {
  /** Keep everything in memory. This is so, too, when no `data` folder is given. */
  readonly memory?: boolean;
  /** Folder for everything that must outlive the process. */
  readonly data?: string;
  /** 0, which is the default, takes a free port. */
  readonly port?: number;
  readonly host?: string;
  /** "virtual": time stands still but for `clock.advance`. */
  readonly clock?: "system" | "virtual";
  readonly region?: string;
  readonly account?: string;
  /** The eventVersion of S3 events, for those who must see an older one. */
  readonly s3EventVersion?: string;
  /** Queue that gets what S3 sends to EventBridge, of buckets that have that turned on. */
  readonly eventBridgeQueue?: string;
  /**
   * Queue policies decide what topics and buckets may deliver to queues. Off unless asked for:
   * policies are then kept and told, and everything may deliver to every queue.
   */
  readonly enforcePolicies?: boolean;
  /**
   * Queues, topics, subscriptions and buckets to begin with. Checked as a whole, done before the
   * first request is answered, and left alone where it is there already.
   */
  readonly setup?: CloudSetup;
  /** Names other than loopback names and IP addresses that clients may call it by (Host header). */
  readonly allowedHosts?: readonly string[];
  /** Lets topics deliver to http endpoints on link-local addresses. Default: false. */
  readonly allowLinkLocalEndpoints?: boolean;
  /** Faults to begin with; `/_tidegate/faults` changes them. Names need not exist yet. */
  readonly faults?: readonly FaultSpec[];
  /** What `/_tidegate/health` tells. */
  readonly version?: string;
  /** Hears of every failure that is not a client's fault; without it, they go to the console. */
  readonly onError?: (error: unknown) => void;
  /** Only for tests of a full disk: how many pages the data file may have. */
  readonly dataPagesMax?: number;
}

export interface Cloud extends AsyncDisposable {
  /** Where clients find it: `http://host:port`. */
  readonly endpoint: string;
  readonly port: number;
  readonly clock: Clock;
  readonly broker: Broker;
  /** Its objects, pinned to what events tell of them, without HTTP in between. */
  readonly objects: ObjectSource;
  close(): Promise<void>;
}

export interface VirtualCloud extends Cloud {
  readonly clock: VirtualClock;
}

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
  const onError = options.onError ?? ((error: unknown) => console.error(error));
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
    const s3 = s3SiteOf(blobs, clock, options);
    const { version } = options;
    const where = { endpoint: "http://localhost" }; // Until the port is known.
    const handler = createBrokerHttp(engine, {
      onError,
      virtualClock,
      version,
      s3,
      get hostFallback() {
        return new URL(where.endpoint).host;
      },
    });
    const gate = createGate(guardHosts(handler, hostGuardOf(options)));
    const streams = wantsStream(broker);
    const listener = createHttpListener(gate.handler, {
      onError,
      wantsStream: streams,
      answersText: (head) => !streams(head), // All but S3 does.
    });
    closeListener = listener.close;
    const chosenPort = await listener.listen(port, host);
    const endpoint = endpointOf(host, chosenPort);
    where.endpoint = endpoint;
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

/** Checks a set-up and gives what does it. Its code is loaded only where there is one. */
async function scheduleSetup(given: CloudSetup, options: CloudOptions) {
  const { setupContext, prepareSetup } = await import("./setup/prepare-setup.ts");
  const { applySetup } = await import("./setup/apply-setup.ts");
  const setup = await prepareSetup(given, settingsOf(options));
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

function s3SiteOf(blobs: BlobStore, clock: Clock, options: CloudOptions) {
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
  // Two turns, as what a sleeper sets off needs one to reach the engine.
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

/** A wildcard is no address to call; loopback always is. */
function endpointOf(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

function checkOptions(options: CloudOptions): void {
  const { memory, data, port = 0, clock = "system", account, region } = options;
  if (memory === true && data !== undefined) {
    refuse("Choose memory or a data folder: with memory, nothing is kept in a folder.");
  }
  if (memory === false && data === undefined) refuse("Without memory, name a data folder.");
  if (data === "") refuse("The name of the data folder is empty.");
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    refuse(`A port is a whole number from 0 to ${PORT_MAX}, not ${port}.`);
  }
  if (clock !== "system" && clock !== "virtual") {
    refuse(`The clock is "system" or "virtual", not ${JSON.stringify(clock)}.`);
  }
  if (account !== undefined && !/^\d{12}$/.test(account)) refuse("An account has 12 digits.");
  const { s3EventVersion, eventBridgeQueue } = options;
  if (s3EventVersion !== undefined && !/^\d+\.\d+$/.test(s3EventVersion)) {
    refuse("An event version is two numbers with a dot between them.");
  }
  if (eventBridgeQueue?.endsWith(".fifo")) refuse("The queue for EventBridge cannot be FIFO.");
  if (region !== undefined && !/^[a-z\d-]{1,32}$/.test(region)) {
    refuse("A region is made of small letters, digits and hyphens.");
  }
}

async function faultsOf({ faults = [] }: CloudOptions): Promise<readonly FaultSpec[]> {
  if (Array.isArray(faults) && faults.length === 0) return []; // Their code is not needed then.
  const { readFaultSpecs } = await import("../broker/wire/faults/fault-specs.ts");
  const read = readFaultSpecs(faults);
  return read.ok ? read.value : refuse(read.fault.join("\n"));
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
