// SigningIdentity: the signing key of a data folder, created once and never replaced.

import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { SigningIdentity } from "./topic-operations-contract.ts";

export function keepSigningIdentity(
  state: BrokerState,
  step: ModelStep,
  input: SigningIdentity,
): Result<SigningIdentity, Fault> {
  if (state.topics.signing !== null) return succeed(state.topics.signing);
  state.topics.signing = input;
  const document = { collection: "signing", key: "identity", value: JSON.stringify(input) };
  step.emit({ kind: "put-document", document });
  return succeed(input);
}

export function findSigningIdentity(state: BrokerState): Result<SigningIdentity | null, Fault> {
  return succeed(state.topics.signing);
}
