// Sim ports: shared by all port wrappers: the network, the faults, and the history to which the
// remote side adds what it did.

import { TidegateError } from "../../core/errors.ts";
import type { Faults } from "../faults/call-faults.ts";
import type { FrozenHolders } from "../faults/frozen-holders.ts";
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
  /** Default: no process freezes inside a call. */
  readonly holders?: FrozenHolders;
}

/** Makes a call of one port; the port supplies partial and duplicated runs. */
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
  const points = new Map<string, ReturnType<Faults["point"]>>();
  return (method, run, other) => {
    let point = points.get(method);
    if (point === undefined) {
      point = ports.faults.point(process.name, `${service.name}.${method}`);
      points.set(method, point);
    }
    return ports.network.call(process, service, point, { run, unavailable, ...other });
  };
}

/** Whether the batch entry at index `at` fails, as `word` decides. */
export function fails(word: number, at: number): boolean {
  return mixWords(word, at + 10) % 2 === 0;
}
