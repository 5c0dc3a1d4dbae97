// The broker: the engine behind the face that the wire and embedders see.

import type { Outcome } from "../model/fault.ts";
import type { Broker } from "./broker.ts";
import { Engine, type EnginePorts } from "./engine.ts";
import type { Job } from "./job.ts";

/** Bodies kept in memory beside the disk; more waits on disk alone. */
const CONTENT_CACHE_BYTES_MAX = 262_144;

export interface BrokerOptions {
  readonly account: string;
  readonly region: string;
  readonly contentCacheBytesMax?: number;
}

/** Opens the store and takes up where it was left; rejects if it can not be read. */
export async function createBroker(ports: EnginePorts, options: BrokerOptions): Promise<Broker> {
  const { account, region } = options;
  const draws = ports.random.fork("receipt-handles");
  const secret = [draws.below(2 ** 32), draws.below(2 ** 32)] as const;
  const cacheBytesMax = options.contentCacheBytesMax ?? CONTENT_CACHE_BYTES_MAX;
  const engine = new Engine(ports, { account, region, secret }, cacheBytesMax);
  await engine.open();
  return {
    account,
    region,
    submit(name, input, signal) {
      return new Promise((resolve, reject) => {
        // The engine answers every job with the outcome of its own operation.
        const answer = resolve as (outcome: Outcome<unknown>) => void;
        engine.submit({ name, input, signal, resolve: answer, reject } satisfies Job);
      });
    },
    idle: () => engine.idle(),
    close: () => engine.close(),
  };
}
