// The embedded cloud, put together: store, engine, HTTP function, listener. `tidegate up` and the
// library start this one, so that a test proves what runs.
//   G1. When starting fails, everything that had been started is stopped: no lock, no port is kept.
//   G2. close() answers what is under way, then closes the store; it may be called more than once.

import type { Broker } from "../broker/engine/broker.ts";
import { createBroker } from "../broker/engine/create-broker.ts";
import { disturbedBroker } from "../broker/engine/disturbed-broker.ts";
import { createBrokerHttp } from "../broker/http.ts";
import type { FaultSpec } from "../broker/model/fault-plan.ts";
import { readFaultSpecs } from "../broker/wire/fault-specs.ts";
import { TidegateError } from "../core/errors.ts";
import { createHttpListener } from "../platform/http-listener.ts";
import { createHttpClient } from "../platform/node-http-client.ts";
import { createRsaSigner } from "../platform/rsa-signer.ts";
import { systemClock } from "../platform/system-clock.ts";
import { systemRandom } from "../platform/system-random.ts";
import { systemTurn } from "../platform/system-turn.ts";
import type { BrokerStore } from "../ports/broker-store.ts";
import type { Clock } from "../ports/clock.ts";
import { createMemoryBrokerStore } from "../stores/memory/broker-store.ts";
import { createSqliteBrokerStore } from "../stores/sqlite/broker-store.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

const PORT_MAX = 65_535;

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
  /**
   * Queue policies decide what topics may deliver to queues. Off unless asked for: policies are
   * then kept and told, and every topic may deliver to every queue.
   */
  readonly enforcePolicies?: boolean;
  /** Faults to begin with; `/_tidegate/faults` changes them. Names need not exist yet. */
  readonly faults?: readonly FaultSpec[];
  /** What `/_tidegate/health` tells. */
  readonly version?: string;
  /** Hears of every failure that is not a client's fault; without it, they go to the console. */
  readonly onError?: (error: unknown) => void;
}

export interface Cloud extends AsyncDisposable {
  /** Where clients find it: `http://host:port`. */
  readonly endpoint: string;
  readonly port: number;
  readonly clock: Clock;
  readonly broker: Broker;
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
  const faults = faultsOf(options);
  const { host = "127.0.0.1", port = 0 } = options;
  const onError = options.onError ?? ((error: unknown) => console.error(error));
  const store = openStore(options);
  let broker: Broker | null = null;
  try {
    const virtualClock = options.clock === "virtual" ? virtualClockFor(() => broker) : undefined;
    const clock = virtualClock ?? systemClock;
    broker = await openBroker(store, clock, options);
    for (const spec of faults) broker.faults.put(spec);
    const handler = createBrokerHttp(broker, { onError, virtualClock, version: options.version });
    const listener = createHttpListener(handler, { onError });
    const chosenPort = await listener.listen(port, host);
    return assemble(broker, clock, endpointOf(host, chosenPort), chosenPort, listener.close);
  } catch (error) {
    await (broker ?? store).close(); // G1
    throw error;
  }
}

function openStore(options: CloudOptions): BrokerStore {
  if (options.data === undefined) return createMemoryBrokerStore();
  return createSqliteBrokerStore({ folder: options.data });
}

function openBroker(store: BrokerStore, clock: Clock, options: CloudOptions): Promise<Broker> {
  const { account = "000000000000", region = "us-east-1", enforcePolicies = false } = options;
  const ports = {
    store,
    clock,
    random: systemRandom,
    turn: systemTurn,
    signer: createRsaSigner(),
    http: createHttpClient(),
  };
  return createBroker(ports, { account, region, enforcePolicies });
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
  clock: Clock,
  endpoint: string,
  port: number,
  closeListener: () => Promise<void>,
): Cloud {
  let closed: Promise<void> | null = null;
  const close = () => {
    closed ??= closeListener().then(() => broker.close()); // G2
    return closed;
  };
  return {
    endpoint,
    port,
    clock,
    broker: disturbedBroker(broker),
    close,
    [Symbol.asyncDispose]: close,
  };
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
  if (region !== undefined && !/^[a-z\d-]{1,32}$/.test(region)) {
    refuse("A region is made of small letters, digits and hyphens.");
  }
}

function faultsOf({ faults = [] }: CloudOptions): readonly FaultSpec[] {
  const read = readFaultSpecs(faults);
  return read.ok ? read.specs : refuse(read.problems.join("\n"));
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
