// Evaluate Terraform: the real Terraform engine evaluates generated files without the AWS provider.
//   T1. Each AWS resource becomes a `terraform_data`, which Terraform has built in and which returns
//       its input. ARNs and URLs that AWS would assign are computed from the names.
//   T2. As with AWS, attributes of a resource are unknown until it is created: a `count` that
//       depends on one fails here, too.
//   T3. Variables, validations, functions, modules and dependencies are Terraform's own.
//   T4. A dynamic block becomes a `for` expression, because a placeholder has no blocks.

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "@cdktf/hcl2json";
import type { InfraFiles } from "../../../src/infra/root-files.ts";
import { patienceMs } from "../patience.ts";

export interface EvaluatedResource {
  /** `module.queue`. */
  readonly module: string;
  readonly type: string;
  readonly name: string;
  /** Attributes and blocks, as the provider would get them. */
  readonly values: Readonly<Record<string, unknown>>;
}

const REGION = "us-east-1";
const ACCOUNT = "000000000000";
const TERRAFORM_MS_MAX = patienceMs(120_000);

/** What AWS adds to a resource, as templates over its own attributes (T1). */
const COMPUTED: Readonly<Record<string, (body: Body) => Body>> = {
  aws_s3_bucket: ({ bucket }) => ({ id: bucket, arn: `arn:aws:s3:::${bucket}` }),
  aws_sqs_queue: ({ name }) => ({
    id: `http://sqs.local/${ACCOUNT}/${name}`,
    arn: `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
  }),
  aws_sns_topic: ({ name }) => ({ arn: `arn:aws:sns:${REGION}:${ACCOUNT}:${name}` }),
  aws_kms_key: () => ({ key_id: "key", arn: `arn:aws:kms:${REGION}:${ACCOUNT}:key/key` }),
  aws_dynamodb_table: ({ name }) => ({
    arn: `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${name}`,
  }),
  aws_iam_role: ({ name }) => ({ id: name, arn: `arn:aws:iam::${ACCOUNT}:role/${name}` }),
  aws_ecs_task_definition: () => ({ arn: "arn:aws:ecs:::task-definition/x" }),
  aws_lambda_event_source_mapping: () => ({ uuid: "mapping" }),
};

const DATA: Readonly<Record<string, Body>> = {
  aws_caller_identity: { account_id: ACCOUNT },
  aws_region: { region: REGION },
  aws_partition: { partition: "aws" },
};

type Body = Readonly<Record<string, unknown>>;
type Named = Readonly<Record<string, readonly Body[]>>;
type Parsed = Readonly<Record<string, unknown>> & {
  readonly resource?: Readonly<Record<string, Named>>;
  readonly data?: Readonly<Record<string, Named>>;
  readonly module?: Named;
  readonly variable?: Named;
};

/** Evaluates the files in an empty folder; `variables` are those of the root. */
export async function evaluateTerraform(
  terraform: string,
  folder: string,
  files: InfraFiles,
  variables: Readonly<Record<string, unknown>>,
): Promise<EvaluatedResource[]> {
  for (const [path, text] of files) {
    const target = join(folder, `${path}.json`);
    mkdirSync(dirname(target), { recursive: true });
    const translated = translate((await parse(path, text)) as Parsed);
    writeFileSync(target, JSON.stringify(translated));
  }
  writeFileSync(join(folder, "terraform.tfvars.json"), JSON.stringify(variables));
  run(terraform, folder, "init", "-input=false", "-no-color");
  run(terraform, folder, "apply", "-input=false", "-no-color", "-auto-approve");
  const state = JSON.parse(run(terraform, folder, "show", "-json")) as {
    values: { root_module: StateModule };
  };
  return resourcesIn(state.values.root_module);
}

function run(terraform: string, folder: string, ...args: string[]): string {
  const env = { ...process.env, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: "/dev/null" };
  const options = { cwd: folder, env, encoding: "utf8" as const, timeout: TERRAFORM_MS_MAX };
  const result = spawnSync(terraform, args, options);
  if (result.status !== 0)
    throw new Error(`terraform ${args[0]}: ${result.stdout}${result.stderr}`);
  return result.stdout;
}

/** One file in Terraform's JSON syntax, with placeholders for AWS (T1). */
function translate(parsed: Parsed): object {
  const { terraform: _versions, provider: _provider, resource = {}, data = {}, ...rest } = parsed;
  const placeholders: Record<string, Body> = {};
  const eachOf = (blocks: Readonly<Record<string, Named>>, use: (...block: Block) => void) => {
    for (const [type, named] of Object.entries(blocks)) {
      for (const [name, [body = {}]] of Object.entries(named)) use(type, name, body);
    }
  };
  eachOf(resource, (type, name, body) => {
    placeholders[`${type}__${name}`] = placeholderOf(type, body);
  });
  eachOf(data, (type, name) => {
    placeholders[`data__${type}__${name}`] = { input: DATA[type] };
  });
  const { variable = {}, module: calls = {} } = parsed;
  const typed = Object.entries(variable).map(([name, [body = {}]]) => [name, plainType(body)]);
  const called = Object.entries(calls).map(([name, [body = {}]]) => [name, plainOrder(body)]);
  return rewritten({
    ...rest,
    ...(typed.length > 0 && { variable: Object.fromEntries(typed) }),
    ...(called.length > 0 && { module: Object.fromEntries(called) }),
    ...(Object.keys(placeholders).length > 0 && { resource: { terraform_data: placeholders } }),
  }) as object;
}

type Block = [type: string, name: string, body: Body];

function placeholderOf(type: string, body: Body): Body {
  const { count, for_each: forEach, depends_on: _order, lifecycle: _lifecycle, ...rest } = body;
  const { dynamic = {}, ...input } = rest;
  return {
    input: { ...input, ...dynamicLists(input, dynamic as Named), ...COMPUTED[type]?.(input) },
    ...(count !== undefined && { count }),
    ...(forEach !== undefined && { for_each: forEach }),
  };
}

/** Written-out blocks of each dynamic type, and those that it adds (T4). */
function dynamicLists(input: Body, dynamic: Named): Body {
  const lists = Object.entries(dynamic).map(([type, [block = {}]]) => {
    const [content] = block.content as unknown[];
    const each = hclOf(content).replaceAll(`${type}.`, "each_block.");
    const list = `[for key, value in ${bare(block.for_each)} : ${each}]`
      .replaceAll("each_block.key", "key")
      .replaceAll("each_block.value", "value");
    return [type, `\${concat(${hclOf(input[type] ?? [])}, ${list})}`] as const;
  });
  return Object.fromEntries(lists);
}

/** A value of Terraform's JSON syntax as an expression. */
function hclOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(hclOf).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).map(([name, each]) => `${name} = ${hclOf(each)}`);
    return `{ ${fields.join(", ")} }`;
  }
  const isExpression = typeof value === "string" && /^\$\{.*\}$/.test(value);
  return isExpression ? bare(value) : JSON.stringify(value);
}

/** In JSON, types and references are written without a template around them. */
function plainType({ type, ...body }: Body): Body {
  return { ...body, type: bare(type) };
}

function plainOrder({ depends_on: order, ...body }: Body): Body {
  return order === undefined ? body : { ...body, depends_on: (order as unknown[]).map(bare) };
}

function bare(value: unknown): string {
  return String(value).replace(/^\$\{(.*)\}$/, "$1");
}

/** References to AWS become references to placeholders, in every text. */
function rewritten(value: unknown): unknown {
  if (typeof value === "string") {
    return value
      .replaceAll(/\bdata\.(aws_\w+)\.(\w+)/g, "terraform_data.data__$1__$2.output")
      .replaceAll(/(?<![\w.])(aws_\w+)\.(\w+)(\[[^\]]*\])?\./g, "terraform_data.$1__$2$3.output.")
      .replaceAll(/(?<![\w.])keys\((aws_\w+)\.(\w+)\)/g, "keys(terraform_data.$1__$2)");
  }
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rewritten(each)]));
}

interface StateModule {
  readonly address?: string;
  readonly resources?: readonly { readonly name: string; readonly values: { output: Body } }[];
  readonly child_modules?: readonly StateModule[];
}

function resourcesIn(module: StateModule): EvaluatedResource[] {
  const { address = "", resources = [], child_modules: children = [] } = module;
  const own = resources.flatMap(({ name, values }) => {
    const [type = "", rest = ""] = name.split("__");
    return type === "data" ? [] : [{ module: address, type, name: rest, values: values.output }];
  });
  return [...own, ...children.flatMap(resourcesIn)];
}
