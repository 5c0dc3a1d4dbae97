// Broker: the interface of the engine.

import type { ClockLeap } from "../../core/store-clock.ts";
import type { FaultPlan } from "../model/fault-plan.ts";
import type { OperationInput, OperationName, OperationResult } from "../model/operations.ts";
import type { StoreOutage } from "./store-retry.ts";

/**
 * "full": the disk is, so operations that need space are rejected and the others work. "failing":
 * the store fails, and every operation is rejected.
 */
export type BrokerHealth = "ok" | "full" | "failing";

/** What can have a policy. */
export type ResourceKind = "queue" | "topic" | "bucket";

export interface Broker {
  /** The account and region in its ARNs. */
  readonly account: string;
  readonly region: string;
  readonly health: BrokerHealth;
  /** Why it is failing, and since when; null while it is not. */
  readonly outage: StoreOutage | null;
  /** A leap of the system clock by which nothing expires, because it is not confirmed. */
  readonly clockLeap: ClockLeap | null;
  /** The injected faults, in memory only. */
  readonly faults: FaultPlan;
  /**
   * Runs one operation as one atomic step. Resolves once everything in the result is durable.
   * When `signal` aborts, a long poll ends without messages.
   */
  submit<K extends OperationName>(
    name: K,
    input: OperationInput<K>,
    signal?: AbortSignal,
  ): Promise<OperationResult<K>>;
  /**
   * The text of a resource's policy, as the last step left it; undefined if there is none. Throws
   * while the state is loaded: a policy that denies must not be missed.
   */
  resourcePolicy(kind: ResourceKind, name: string): string | undefined;
  /** The name of a subscription's topic. Throws like resourcePolicy. */
  topicOfSubscription(id: string): string | undefined;
  /** Resolves when nothing is in progress; long polls do not count. */
  idle(): Promise<void>;
  /** Ends long polls without messages, commits, and closes the store. */
  close(): Promise<void>;
}
