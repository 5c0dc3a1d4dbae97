// Terraform facts: reads single arguments of a resource as the kind of value that a rule needs.
//   F1. Absent becomes the default; a value that is not known becomes undefined (S1 of setup.ts).

import { type DurationMs, seconds } from "../../core/units.ts";
import { type ObservedStatement, policyStatements } from "../policy-document.ts";
import type { Location, RedriveTarget } from "../setup.ts";
import { UNKNOWN } from "../unknown.ts";
import type { HclBody } from "./hcl-syntax.ts";
import type { TerraformBlock, TerraformScope } from "./terraform-scope.ts";
import {
  isObjectValue,
  jsonOf,
  type TerraformObject,
  type TerraformValue,
} from "./terraform-values.ts";

/** One instance of a resource in its scope. */
export class ResourceReader {
  readonly body: HclBody;
  readonly name: string;
  readonly location: Location;
  /** The path of its module. */
  readonly path: string;
  readonly #scope: TerraformScope;
  readonly #bound: TerraformObject;

  constructor(scope: TerraformScope, { block, file }: TerraformBlock, bound: TerraformObject) {
    this.#scope = scope;
    this.#bound = bound;
    this.path = scope.path;
    this.body = block.body;
    this.name = scope.binding(bound, () => scope.nameOf(block));
    this.location = { name: this.name, file, line: block.line };
  }

  /** The value of an argument of the resource, or of a block in it; undefined if absent. */
  attribute(body: HclBody, argument: string): TerraformValue {
    return this.#scope.binding(this.#bound, () => this.#scope.attribute(body, argument));
  }

  nested(body: HclBody, type: string): readonly HclBody[] {
    return this.#scope.binding(this.#bound, () => this.#scope.nested(body, type));
  }

  /** The raw value; undefined if absent. */
  raw(argument: string): TerraformValue {
    return this.attribute(this.body, argument);
  }

  text(argument: string, fallback: string | null = null): string | null | undefined {
    return textValue(this.raw(argument), fallback);
  }

  /** Text that identifies something; "" if it is not known. */
  reference(argument: string): string {
    const value = this.raw(argument);
    return typeof value === "string" ? value : "";
  }

  flag(argument: string, fallback: boolean): boolean | undefined {
    const value = this.raw(argument);
    if (value === undefined || value === null) return fallback;
    return typeof value === "boolean" ? value : undefined;
  }

  number(argument: string, fallback: number | null): number | null | undefined {
    const value = this.raw(argument);
    if (value === undefined || value === null) return fallback;
    return value !== UNKNOWN && Number.isFinite(Number(value)) ? Number(value) : undefined;
  }

  span(argument: string, fallback: DurationMs): DurationMs | undefined {
    const value = this.number(argument, fallback / 1_000);
    return value === null || value === undefined ? undefined : seconds(value);
  }

  policy(argument = "policy"): readonly ObservedStatement[] | null | undefined {
    const value = this.raw(argument);
    return value === undefined || value === null ? null : policyStatements(jsonOf(value));
  }

  redrive(argument = "redrive_policy"): RedriveTarget | null | undefined {
    const value = this.raw(argument);
    if (value === undefined || value === null || value === "") return null;
    const policy = jsonOf(value);
    if (!isObjectValue(policy)) return undefined;
    const { deadLetterTargetArn: target, maxReceiveCount: count } = policy;
    if (target === UNKNOWN) return undefined;
    if (typeof target !== "string") return null;
    const receives = count === undefined || count === null ? null : Number(String(count));
    return { deadLetterArn: target, maxReceiveCount: count === UNKNOWN ? undefined : receives };
  }
}

export function textValue(
  value: TerraformValue,
  fallback: string | null,
): string | null | undefined {
  if (value === undefined || value === null) return fallback;
  return typeof value === "string" ? value : undefined;
}

export function textValues(value: TerraformValue): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
