// tidegate contract: prints a pipeline's ingestion contract, and compares it with a stored one.

import type { JsonValue } from "../../../core/encoding/canonical-json.ts";
import { isObject } from "../../../core/is-object.ts";
import type { Contract, ContractChange } from "../../../operate/contracts.ts";
import {
  command,
  EXIT_FAILED,
  EXIT_OK,
  type ExitCode,
  text,
  toggle,
  UsageError,
} from "../../command.ts";
import { readJsonFile } from "../../flags/json-file.ts";
import { requiredFlag } from "../../flags/required-flag.ts";
import { runUserCode } from "../../run-user-code.ts";
import { PIPELINE_FILE } from "../start/run.ts";

export const contractShow = command({
  name: "contract show",
  summary: "Print a pipeline's ingestion contract as JSON: all that changes what its data means.",
  argument: PIPELINE_FILE,
  flags: {},
  run: ({ argument: file = "", out }) =>
    runUserCode(file, out, async (): Promise<ExitCode> => {
      const { describeContract } = await import("../../../operate/contracts.ts");
      const json = JSON.stringify(await describeContract(file), null, 2);
      for (const line of json.split("\n")) out.line(line);
      return EXIT_OK;
    }),
});

export const contractDiff = command({
  name: "contract diff",
  summary: "Compare a pipeline with a stored contract; fail if a change is incompatible.",
  argument: PIPELINE_FILE,
  flags: {
    against: text("FILE", null, "Contract to compare with, from `contract show` (required)."),
    json: toggle("Print the changes as a JSON array."),
  },
  run: ({ argument: file = "", flags, out }) =>
    runUserCode(file, out, async () => {
      const path = requiredFlag(flags.against, "against");
      const contracts = await import("../../../operate/contracts.ts");
      const before = asContract(contracts, readJsonFile(path, "against"), path);
      const changes = contracts.diffContracts(before, await contracts.describeContract(file));
      if (flags.json) out.line(JSON.stringify(changes));
      else for (const line of describe(changes, path)) out.line(line);
      return changes.every(({ compatible }) => compatible) ? EXIT_OK : EXIT_FAILED;
    }),
});

/** Checks what the comparison relies on. */
function asContract(
  { CONTRACT_SECTIONS, CONTRACT_VERSION }: typeof import("../../../operate/contracts.ts"),
  value: JsonValue,
  path: string,
): Contract {
  const contract = value as unknown as Contract;
  if (!isObject(value) || contract.contract === undefined || !Array.isArray(contract.mask)) {
    throw new UsageError(`--against: ${path} is not a contract; write one with contract show`);
  }
  if (contract.contract !== CONTRACT_VERSION) {
    const { contract: version } = contract;
    const expected = `this release reads version ${CONTRACT_VERSION}; write it again`;
    throw new UsageError(`--against: ${path} has contract version ${version}; ${expected}`);
  }
  const fields = [...CONTRACT_SECTIONS, "tables"] as const;
  const missing = fields.find((name) => !isObject(contract[name]));
  if (missing !== undefined) throw new UsageError(`--against: ${path} has no field "${missing}"`);
  return contract;
}

function describe(changes: readonly ContractChange[], path: string): string[] {
  if (changes.length === 0) return [`The pipeline is as in ${path}.`];
  const lines = changes.map(
    ({ path: field, compatible, what }) =>
      `${compatible ? "compatible  " : "INCOMPATIBLE"}  ${field}: ${what}`,
  );
  const broken = changes.filter(({ compatible }) => !compatible).length;
  const summary =
    broken === 0
      ? "All changes are compatible. Store the new contract with contract show."
      : `${broken} incompatible. If that is intended, store the new contract with contract show.`;
  return [...lines, "", summary];
}
