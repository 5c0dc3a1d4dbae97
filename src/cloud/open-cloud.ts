// Open cloud: the embedded cloud without sockets: store, engine, object bytes, HTTP function.
// `startCloud` adds the listener. Tests that need no endpoint use it as it is.
//   O1. If opening fails, everything that was opened is closed: no lock stays taken.
//   O2. close() is idempotent. It closes the object bytes before the engine, and the engine closes
//       the store.
//   O3. The setup and the initial faults are applied by `prepare`, because links in notifications
//       need the endpoint, which the listener knows.

import type { Broker } from "../broker/engine/broker.ts";
import { type BrokerPorts, createBroker } from "../broker/engine/create-broker.ts";
import { createFaultyBroker } from "../broker/engine/request-faults.ts";
import { createBrokerHttp, createOriginCheck } from "../broker/http.ts";
import type { Authority } from "../broker/wire/auth/access-key.ts";
import { createRsaSigner } from "../platform/certificate/rsa-signer.ts";
import { createHttpClient } from "../platform/http/node-http-client.ts";
import { packageVersion } from "../platform/package-version.ts";
import { printError } from "../platform/print-error.ts";
import { systemClock } from "../platform/system-clock.ts";
import { systemRandom } from "../platform/system-random.ts";
import { systemTurn } from "../platform/system-turn.ts";
import type { BlobStore } from "../ports/broker/blob-store.ts";
import type { BrokerStore } from "../ports/broker/broker-store.ts";
import type { Clock } from "../ports/clock.ts";
import type { HttpHandler, HttpRequest } from "../ports/http/http.ts";
import type { ReplySpace } from "../ports/http/reply-space.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import { checkBlobFolder, createFileBlobStore } from "../stores/files/blob-store.ts";
import { createMemoryBlobStore } from "../stores/memory/blob-store.ts";
import { createMemoryBrokerStore } from "../stores/memory/broker-store.ts";
import { createSqliteBrokerStore } from "../stores/sqlite/broker/broker-store.ts";
import { readAccessKeys } from "./access-keys.ts";
import { createBrokerObjects } from "./broker-objects.ts";
import { checkCloudOptions, readFaults } from "./check-cloud-options.ts";
import { createCloudMetrics } from "./cloud-metrics.ts";
import type { CloudOptions } from "./cloud-options.ts";
import type { CloudSetup } from "./setup/cloud-setup.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

/** The current version of S3; consumers should accept any minor version of 2. */
const EVENT_VERSION = "2.6";
/** The endpoint in links until `prepare` sets one. */
const NO_ENDPOINT = "http://localhost";

/** Options that concern the listener do not apply. */
export type OpenCloudOptions = Omit<CloudOptions, "host" | "port" | "allowedHosts">;

/** An embedded cloud without a listener. Disposing it closes it. */
export interface OpenCloud extends AsyncDisposable {
  readonly clock: Clock;
  readonly broker: Broker;
  /** The same broker without injected faults. */
  readonly engine: Broker;
  /** Reads the cloud's objects, pinned to the versions in events. */
  readonly objects: ObjectSource;
  /** The AWS protocols and the admin API, as a function. */
  readonly http: HttpHandler;
  /** The same without signatures and policies of callers, for parts of this process. */
  readonly unsignedHttp: HttpHandler;
  /** Whether a bucket lets the page of another site send this request. */
  readonly allowsOrigin: (request: HttpRequest) => Promise<boolean>;
  /** Applies the setup and the initial faults (O3). */
  prepare(endpoint: string): Promise<void>;
  close(): Promise<void>;
}

export interface VirtualOpenCloud extends OpenCloud {
  readonly clock: VirtualClock;
}

/** Opens an embedded cloud in this process, with its setup applied, and without an endpoint. */
export function openCloud(
  options: OpenCloudOptions & { readonly clock: "virtual" },
): Promise<VirtualOpenCloud>;
export function openCloud(options?: OpenCloudOptions): Promise<OpenCloud>;
export async function openCloud(options: OpenCloudOptions = {}): Promise<OpenCloud> {
  const cloud = await openUnpreparedCloud(options);
  try {
    await cloud.prepare(NO_ENDPOINT);
    return cloud;
  } catch (error) {
    await cloud.close(); // O1
    throw error;
  }
}

/** Opens an embedded cloud; the caller calls `prepare` once the endpoint is known. */
export async function openUnpreparedCloud(
  options: OpenCloudOptions,
  replySpace?: ReplySpace,
): Promise<OpenCloud> {
  checkCloudOptions(options);
  const faults = await readFaults(options);
  const { setup } = options;
  const applyPrepared = setup === undefined ? null : await scheduleSetup(setup, options);
  const onError = options.onError ?? printError;
  const store = openStore(options);
  let engine: Broker | null = null;
  let blobs: BlobStore | null = null;
  try {
    const virtualClock = options.clock === "virtual" ? virtualClockFor(() => engine) : undefined;
    const clock = virtualClock ?? systemClock;
    if (options.data !== undefined) checkBlobFolder(options.data);
    engine = await openBroker(store, { clock, onError, replySpace }, options);
    blobs = await openBlobs(options, store, onError);
    const address = { endpoint: NO_ENDPOINT };
    const metrics = createCloudMetrics(clock);
    const s3 = s3ContextOf(blobs, clock, options);
    const wireFor = (authority: Authority | undefined) => ({
      onError,
      virtualClock,
      version: options.version ?? packageVersion(),
      metrics: metrics.page,
      s3,
      authority,
      get hostFallback() {
        return new URL(address.endpoint).host;
      },
    });
    const wire = wireFor(authorityOf(clock, options));
    const http = metrics.counted(createBrokerHttp(engine, wire));
    const unsignedHttp = metrics.counted(createBrokerHttp(engine, wireFor(undefined)));
    const allowsOrigin = createOriginCheck(engine, wire);
    // For callers in this process; HTTP injects faults per request.
    const broker = createFaultyBroker(engine);
    const sweep = () => blobs?.sweep((blob) => store.objects.hasBlob(blob)).catch(onError);
    const prepare = async (endpoint: string) => {
      address.endpoint = endpoint;
      await applyPrepared?.(endpoint, broker); // O3
      for (const spec of faults) broker.faults.put(spec);
      void sweep();
    };
    const close = closerOf(broker, blobs);
    const objects = createBrokerObjects({ broker, blobs });
    const served = { http, unsignedHttp, allowsOrigin, prepare, close };
    return { clock, broker, engine, objects, ...served, [Symbol.asyncDispose]: close };
  } catch (error) {
    await blobs?.close();
    await (engine ?? store).close(); // O1
    throw error;
  }
}

function closerOf(broker: Broker, blobs: BlobStore): () => Promise<void> {
  let closed: Promise<void> | null = null;
  return () => {
    closed ??= Promise.resolve(blobs.close()).then(() => broker.close()); // O2
    return closed;
  };
}

/** Validates a setup and returns a function that applies it. Loads the code only if needed. */
async function scheduleSetup(value: CloudSetup, options: OpenCloudOptions) {
  const { setupContext, prepareSetup } = await import("./setup/prepare-setup.ts");
  const { applySetup } = await import("./setup/apply-setup.ts");
  const setup = await prepareSetup(value, settingsOf(options));
  return (endpoint: string, broker: Broker) =>
    applySetup(setup, setupContext(settingsOf(options), endpoint), broker);
}

function openBlobs(
  options: OpenCloudOptions,
  { space }: BrokerStore,
  onError: (error: unknown) => void,
): Promise<BlobStore> | BlobStore {
  if (options.data === undefined) return createMemoryBlobStore();
  return createFileBlobStore({ folder: options.data, onError, space });
}

function s3ContextOf(blobs: BlobStore, clock: Clock, options: OpenCloudOptions) {
  return {
    blobs,
    now: () => clock.now(),
    eventVersion: settingsOf(options).s3EventVersion,
    eventBridgeQueue: settingsOf(options).eventBridgeQueue,
    baseHost: options.baseHost?.toLowerCase() ?? null,
  };
}

function authorityOf(clock: Clock, { auth }: OpenCloudOptions): Authority | undefined {
  if (auth === undefined) return undefined;
  const keys = readAccessKeys(auth);
  return { keys, now: () => clock.now(), systemNow: () => systemClock.now() };
}

function openStore(options: OpenCloudOptions): BrokerStore {
  if (options.data === undefined) return createMemoryBrokerStore();
  const { data: folder, dataPagesMax: pageCountMax } = options;
  return createSqliteBrokerStore({
    folder,
    reserve: true,
    threadAhead: true,
    ...(pageCountMax && { pageCountMax }),
  });
}

function openBroker(
  store: BrokerStore,
  own: Pick<BrokerPorts, "clock" | "onError" | "replySpace">,
  options: OpenCloudOptions,
): Promise<Broker> {
  const { account, region, enforcePolicies } = settingsOf(options);
  const ports = {
    store,
    ...own,
    random: systemRandom,
    turn: systemTurn,
    signer: createRsaSigner(),
    http: createHttpClient({ allowLinkLocal: options.allowLinkLocalEndpoints === true }),
  };
  const { acceptClock = false } = options;
  return createBroker(ports, { account, region, enforcePolicies, acceptClock });
}

function settingsOf(options: OpenCloudOptions) {
  const { account = "000000000000", region = "us-east-1", auth } = options;
  const { enforcePolicies = auth !== undefined } = options;
  const { s3EventVersion = EVENT_VERSION, eventBridgeQueue = null } = options;
  return { account, region, enforcePolicies, s3EventVersion, eventBridgeQueue };
}

function virtualClockFor(broker: () => Broker | null): VirtualClock {
  // Two turns: work that a sleeper starts needs one turn to reach the engine.
  const turn = () => new Promise<void>((resolve) => systemTurn.afterTurn(resolve));
  const idle = async () => {
    await turn();
    await broker()?.idle();
    await turn();
  };
  return createVirtualClock({ startAt: systemClock.now(), idle });
}
