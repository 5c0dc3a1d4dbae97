// Sim ports: what all wrappers of ports share: the network, the faults, and the history in which
// the far end writes down what it did.

import { TidegateError } from "../../core/errors.ts";
import type { Faults } from "../faults/call-faults.ts";
import { mixWords } from "../faults/named-random.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { RecordNames } from "../record-names.ts";
import type { Network, Service } from "./network.ts";

export interface SimPorts {
  readonly network: Network;
  readonly faults: Faults;
  readonly history: History;
  readonly names: RecordNames;
}

/** How a call of one port is made; parts and repetitions are the port's to know. */
export type Caller = <T>(
  method: string,
  run: () => Promise<T>,
  other?: {
    readonly runPart?: (word: number) => Promise<T>;
    readonly runTwice?: (word: number) => Promise<T>;
  },
) => Promise<T>;

export function createCaller(
  ports: Pick<SimPorts, "network" | "faults">,
  process: SimProcess,
  service: Service,
  code: ConstructorParameters<typeof TidegateError>[0],
): Caller {
  const unavailable = (reason: string) => new TidegateError(code, `${service.name}: ${reason}`);
  const sites = new Map<string, ReturnType<Faults["site"]>>();
  return (method, run, other) => {
    let site = sites.get(method);
    if (site === undefined) {
      site = ports.faults.site(process.name, `${service.name}.${method}`);
      sites.set(method, site);
    }
    return ports.network.call(process, service, site, { run, unavailable, ...other });
  };
}

/** Whether the entry at `at` of a batch is among those that `word` lets fail. */
export function fails(word: number, at: number): boolean {
  return mixWords(word, at + 10) % 2 === 0;
}
