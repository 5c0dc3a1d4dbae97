// Contracts: what a pipeline accepts, how it identifies records and where it writes; and which
// changes of that break what was fine before.

import type { Contract } from "../ingest/policy/contract-diff.ts";
import { contractOf } from "../ingest/spec/contract-of.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { loadPipeline } from "../run/open/load-pipeline.ts";

export {
  CONTRACT_SECTIONS,
  CONTRACT_VERSION,
  type Contract,
  type ContractChange,
  diffContracts,
} from "../ingest/policy/contract-diff.ts";

/** The contract of a pipeline, or of a pipeline file. */
export async function describeContract(pipeline: Pipeline | string): Promise<Contract> {
  return contractOf(typeof pipeline === "string" ? await loadPipeline(pipeline) : pipeline);
}
