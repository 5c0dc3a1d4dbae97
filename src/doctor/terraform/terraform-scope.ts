// Terraform scope: one module with its inputs, in which expressions are evaluated.
//   T1. Names, ARNs and URLs of resources that do not exist yet are invented, the same for every
//       reference, so that references between resources can be followed (S2 of setup.ts).
//   T2. A value that depends on anything else outside of the files is UNKNOWN, and so is one that
//       refers to itself.
//   T3. A resource with count or for_each stands for all its instances; with count 0, for none.
//       Resources that no other one refers to are read instance by instance.
//   T4. A variable of the root that is empty by default is there to be filled in: it is UNKNOWN.

import { UNKNOWN } from "../unknown.ts";
import type { HclBlock, HclBody, TerraformExpression } from "./hcl-syntax.ts";
import { policyDocumentOf } from "./terraform-policy.ts";
import {
  callFunction,
  isObjectValue,
  joinParts,
  operate,
  type TerraformObject,
  type TerraformValue,
} from "./terraform-values.ts";

const ACCOUNT = "000000000000";
const REGION = "us-east-1";

/** What Terraform knows about the account it runs in (T1). */
const SURROUNDINGS: Readonly<Record<string, string>> = {
  "aws_caller_identity.account_id": ACCOUNT,
  "aws_region.name": REGION,
  "aws_region.id": REGION,
  "aws_region.region": REGION,
  "aws_partition.partition": "aws",
  "aws_partition.dns_suffix": "amazonaws.com",
};

/** A block, and the file it is in. */
export interface TerraformBlock {
  readonly file: string;
  readonly block: HclBlock;
}

export class TerraformScope {
  readonly blocks: readonly TerraformBlock[];
  readonly children = new Map<string, TerraformScope>();
  /** "" for the root, "module.a" for a module. */
  readonly path: string;
  readonly #inputs: TerraformObject;
  readonly #computing = new Set<string>();
  readonly #computed = new Map<string, TerraformValue>();
  /** Names of `for` expressions and of instances, the innermost last. */
  readonly #bound: TerraformObject[] = [];

  constructor(path: string, blocks: readonly TerraformBlock[], inputs: TerraformObject) {
    this.path = path;
    this.blocks = blocks;
    this.#inputs = inputs;
  }

  /** Resources of that type which exist (T3). */
  resources(type: string): readonly TerraformBlock[] {
    return this.blocks.filter(({ block }) => {
      return block.type === "resource" && block.labels[0] === type && this.exists(block.body);
    });
  }

  exists(body: HclBody): boolean {
    const count = this.attribute(body, "count");
    const each = this.attribute(body, "for_each");
    if (count === 0 || (Array.isArray(each) && each.length === 0)) return false;
    return !(isObjectValue(each) && Object.keys(each).length === 0);
  }

  /** The value of an argument; undefined if it is absent. */
  attribute(body: HclBody, name: string): TerraformValue {
    const attribute = body.attributes.find((each) => each.name === name);
    return attribute === undefined ? undefined : this.value(attribute.value);
  }

  /** Nested blocks of a type; a dynamic block counts once, unless it is empty. */
  nested(body: HclBody, type: string): readonly HclBody[] {
    return body.blocks.flatMap((block) => {
      if (block.type === type) return [block.body];
      if (block.type !== "dynamic" || block.labels[0] !== type) return [];
      const each = this.attribute(block.body, "for_each");
      if (Array.isArray(each) && each.length === 0) return [];
      return block.body.blocks.filter((inner) => inner.type === "content").map(({ body: b }) => b);
    });
  }

  value(expression: TerraformExpression): TerraformValue {
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "template":
        return joinParts(expression.parts.map((part) => this.value(part)));
      case "list":
        return expression.items.map((item) => this.value(item));
      case "object":
        return this.#object(expression.entries);
      case "call":
        return callFunction(
          expression.name,
          expression.arguments.map((each) => this.value(each)),
        );
      case "reference":
        return this.#once(expression.path);
      case "member":
        return memberOf(this.value(expression.of), this.value(expression.key));
      case "condition":
        return this.#condition(expression);
      case "operation":
        return operate(
          expression.operator,
          this.value(expression.left),
          this.value(expression.right),
        );
      case "for":
        return this.#for(expression);
      case "opaque":
        return UNKNOWN;
    }
  }

  /** Runs `work` while the names of `values` stand for these values. */
  binding<T>(values: TerraformObject, work: () => T): T {
    this.#bound.push(values);
    try {
      return work();
    } finally {
      this.#bound.pop();
    }
  }

  /** The values of `each` in the instances of a resource; UNKNOWN if they are not known (T3). */
  instances(body: HclBody): readonly TerraformObject[] {
    const given = this.attribute(body, "for_each");
    if (given === undefined) return [{}];
    const pairs = pairsOf(given, true);
    const unknown = { each: { key: UNKNOWN, value: UNKNOWN } };
    return pairs?.map(([key, value]) => ({ each: { key, value } })) ?? [unknown];
  }

  #for(expression: Extract<TerraformExpression, { kind: "for" }>): TerraformValue {
    const { names, of, key, value, test } = expression;
    const pairs = pairsOf(this.value(of), false);
    if (pairs === null) return UNKNOWN;
    const [first = "", second] = names;
    const results: (readonly [TerraformValue, TerraformValue])[] = [];
    for (const [at, each] of pairs) {
      const bound = second === undefined ? { [first]: each } : { [first]: at, [second]: each };
      const result = this.binding(bound, () => {
        const included = test === null ? true : this.value(test);
        if (included !== true) return included === UNKNOWN ? UNKNOWN : null;
        return [key === null ? null : this.value(key), this.value(value)] as const;
      });
      if (result === UNKNOWN) return UNKNOWN;
      if (result !== null) results.push(result);
    }
    if (key === null) return results.map(([, each]) => each);
    if (results.some(([each]) => each === UNKNOWN)) return UNKNOWN;
    return Object.fromEntries(results.map(([at, each]) => [String(at), each]));
  }

  /** The name of a resource; its label if the name is not known (T1). */
  nameOf({ labels, body }: HclBlock): string {
    const [type = "", label = ""] = labels;
    const given = this.attribute(body, NAME_ARGUMENTS[type] ?? "name");
    if (typeof given === "string" && given !== "") return given;
    const stem = [...this.path.split(".").filter((part) => part !== "module"), label]
      .filter((part) => part !== "")
      .join("-");
    const fifo = this.attribute(body, "fifo_queue") ?? this.attribute(body, "fifo_topic");
    return fifo === true ? `${stem}.fifo` : stem;
  }

  #condition(expression: Extract<TerraformExpression, { kind: "condition" }>): TerraformValue {
    const test = this.value(expression.test);
    if (test === UNKNOWN) return UNKNOWN;
    return this.value(test === true ? expression.then : expression.otherwise);
  }

  #object(entries: Extract<TerraformExpression, { kind: "object" }>["entries"]): TerraformValue {
    const values = entries.map(({ key, value }) => [this.value(key), this.value(value)] as const);
    const named = values.filter(([key]) => key !== UNKNOWN);
    return Object.fromEntries(named.map(([key, value]) => [String(key), value]));
  }

  /** A reference, computed once; one that refers to itself is UNKNOWN (T2). */
  #once(path: readonly string[]): TerraformValue {
    const [root = "", ...rest] = path;
    const bound = this.#bound.findLast((values) => Object.hasOwn(values, root));
    if (bound !== undefined) return rest.reduce(memberOf, bound[root]);
    const name = path.join(".");
    if (this.#computed.has(name)) return this.#computed.get(name);
    if (this.#computing.has(name)) return UNKNOWN;
    this.#computing.add(name);
    const value = this.#reference(path);
    this.#computing.delete(name);
    this.#computed.set(name, value);
    return value;
  }

  #reference(path: readonly string[]): TerraformValue {
    const [root = "", first = "", second = "", ...rest] = path;
    const deeper = (value: TerraformValue, keys: readonly string[]) => keys.reduce(memberOf, value);
    if (root === "var") return deeper(this.#variable(first), path.slice(2));
    if (root === "local") return deeper(this.#local(first), path.slice(2));
    if (root === "data") return this.#data(first, second, rest[0] ?? "");
    if (root === "module") return deeper(this.#output(first, second), rest);
    return deeper(this.#resource(root, first, second), rest);
  }

  #variable(name: string): TerraformValue {
    if (Object.hasOwn(this.#inputs, name)) return this.#inputs[name];
    const block = this.#find("variable", name);
    const fallback = block === undefined ? undefined : this.attribute(block.body, "default");
    if (fallback === undefined) return UNKNOWN;
    return this.path === "" && isEmpty(fallback) ? UNKNOWN : fallback; // T4
  }

  #local(name: string): TerraformValue {
    for (const { block } of this.blocks) {
      const value = block.type === "locals" ? this.attribute(block.body, name) : undefined;
      if (value !== undefined) return value;
    }
    return UNKNOWN;
  }

  #output(module: string, name: string): TerraformValue {
    const child = this.children.get(module);
    if (child === undefined) return UNKNOWN;
    const output = child.#find("output", name);
    return output === undefined ? UNKNOWN : (child.attribute(output.body, "value") ?? UNKNOWN);
  }

  #data(type: string, name: string, attribute: string): TerraformValue {
    const surrounding = SURROUNDINGS[`${type}.${attribute}`];
    if (surrounding !== undefined) return surrounding;
    const block = this.#find("data", type, name);
    if (block === undefined || type !== "aws_iam_policy_document") return UNKNOWN;
    return policyDocumentOf(this, block.body);
  }

  #resource(type: string, name: string, attribute: string): TerraformValue {
    const block = this.#find("resource", type, name);
    if (block === undefined) return UNKNOWN;
    const invented = INVENTED[type]?.(attribute, this.nameOf(block), this);
    if (invented !== undefined) return invented;
    return this.attribute(block.body, attribute) ?? UNKNOWN;
  }

  #find(type: string, ...labels: readonly string[]): HclBlock | undefined {
    const isIt = ({ block }: TerraformBlock) =>
      block.type === type && labels.every((label, at) => block.labels[at] === label);
    return this.blocks.find(isIt)?.block;
  }
}

/** The argument that names a resource, where it is not `name`. */
const NAME_ARGUMENTS: Readonly<Record<string, string>> = {
  aws_s3_bucket: "bucket",
  aws_lambda_function: "function_name",
  aws_cloudwatch_metric_alarm: "alarm_name",
};

type Invention = (attribute: string, name: string, scope: TerraformScope) => string | undefined;

/** ARNs, ids and URLs of resources (T1). */
const INVENTED: Readonly<Record<string, Invention>> = {
  aws_sqs_queue: (attribute, name) =>
    ({
      arn: `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
      id: inventedUrl(name),
      url: inventedUrl(name),
      name,
    })[attribute],
  aws_sns_topic: (attribute, name) => {
    const arn = `arn:aws:sns:${REGION}:${ACCOUNT}:${name}`;
    return { arn, id: arn, name }[attribute];
  },
  aws_s3_bucket: (attribute, name) =>
    ({ arn: `arn:aws:s3:::${name}`, id: name, bucket: name })[attribute],
  aws_lambda_function: (attribute, name) =>
    ({ arn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${name}`, function_name: name })[
      attribute
    ],
  aws_kms_key: (attribute, name, { path }) => {
    const id = `${path}/${name}`;
    return { arn: keyArn(id), id, key_id: id }[attribute];
  },
  aws_dynamodb_table: (attribute, name) =>
    ({ arn: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${name}`, id: name, name })[attribute],
};

export function inventedUrl(name: string): string {
  return `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${name}`;
}

export function keyArn(id: string): string {
  return `arn:aws:kms:${REGION}:${ACCOUNT}:key/${id}`;
}

function isEmpty(value: TerraformValue): boolean {
  if (value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObjectValue(value) && Object.keys(value).length === 0;
}

/** Keys and values of a list, a set or an object; null if they are not known. */
function pairsOf(
  given: TerraformValue,
  set: boolean,
): readonly (readonly [TerraformValue, TerraformValue])[] | null {
  if (Array.isArray(given)) {
    return given.map((value, at) => [set ? value : at, value] as const);
  }
  return isObjectValue(given) ? Object.entries(given) : null;
}

function memberOf(value: TerraformValue, key: TerraformValue): TerraformValue {
  if (Array.isArray(value)) return value[Number(key)] ?? UNKNOWN;
  if (!isObjectValue(value) || key === UNKNOWN) return UNKNOWN;
  return Object.hasOwn(value, String(key)) ? value[String(key)] : UNKNOWN;
}
