// Broker: what the wire sees of the engine.

import type { FaultPlan } from "../model/fault-plan.ts";
import type { OperationInput, OperationName, OperationResult } from "../model/operations.ts";

export interface Broker {
  /** The account and region that its ARNs carry. */
  readonly account: string;
  readonly region: string;
  /** False while its store is failing: until that ends, every operation is refused. */
  readonly healthy: boolean;
  /** The injected faults, in memory only. */
  readonly faults: FaultPlan;
  /**
   * Runs one operation as one atomic step. Resolves only once all that the answer tells is durable.
   * A receive that waits gives up when `signal` aborts, having taken nothing.
   */
  submit<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
    signal?: AbortSignal,
  ): Promise<OperationResult<K>>;
  /** Resolves when nothing is being worked on (waiting receives do not count). */
  idle(): Promise<void>;
  /** Ends waiting receives with what they have (nothing), commits, closes the store. */
  close(): Promise<void>;
}
