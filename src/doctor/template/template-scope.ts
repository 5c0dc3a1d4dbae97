// Template scope: the values of one template.
//   V1. Names and ARNs of resources are invented, the same for every reference (S2 of setup.ts).
//   V2. A condition, an import and whatever a deployment supplies is UNKNOWN. So is a resource that
//       another file defines.
//   V3. A parameter is its default; one that is empty by default is there to be filled in.

import { isObject } from "../../core/is-object.ts";
import { UNKNOWN } from "../unknown.ts";
import type { TemplateDocument, TemplateObject } from "./template-document.ts";

const ACCOUNT = "000000000000";
const REGION = "us-east-1";
const PSEUDO: Readonly<Record<string, string>> = {
  "AWS::AccountId": ACCOUNT,
  "AWS::Region": REGION,
  "AWS::Partition": "aws",
  "AWS::URLSuffix": "amazonaws.com",
  "AWS::StackName": "stack",
};
/** References within references beyond these are UNKNOWN. */
const DEEP_MAX = 20;

export interface TemplateResource {
  readonly id: string;
  readonly type: string;
  readonly properties: TemplateObject;
}

export class TemplateScope {
  readonly file: string;
  readonly resources: readonly TemplateResource[];
  readonly #document: TemplateDocument;
  readonly #parameters: TemplateObject;
  #deep = 0;

  constructor(document: TemplateDocument, resources: TemplateObject) {
    this.file = document.file;
    this.#document = document;
    this.#parameters = objectAt(document.root, "Parameters");
    this.resources = Object.entries(resources).flatMap(([id, each]) => {
      if (!isObject(each) || typeof each.Type !== "string") return [];
      return [{ id, type: each.Type, properties: objectAt(each, "Properties") }];
    });
  }

  ofType(...types: readonly string[]): readonly TemplateResource[] {
    return this.resources.filter(({ type }) => types.includes(type));
  }

  /** The value with all functions evaluated; undefined for AWS::NoValue. */
  value(given: unknown): unknown {
    if (typeof given === "string") return this.#text(given);
    if (Array.isArray(given)) return given.map((each) => this.value(each));
    if (!isObject(given)) return given;
    const [only, ...others] = Object.keys(given);
    if (only !== undefined && others.length === 0 && /^(Ref$|Fn::|Condition$)/.test(only)) {
      return this.#guarded(() => this.#call(only, given[only]));
    }
    const entries = Object.entries(given).map(([name, each]) => [name, this.value(each)] as const);
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
  }

  /** The name of a resource; its id if the name is not known (V1). */
  nameOf({ id, type, properties }: TemplateResource): string {
    const given = this.value(properties[NAMES[type] ?? "Name"]);
    if (typeof given === "string" && given !== "") return given;
    const fifo = this.value(properties.FifoQueue ?? properties.FifoTopic);
    return String(fifo) === "true" ? `${id}.fifo` : id;
  }

  arnOf(resource: TemplateResource): string {
    const service = SERVICES[resource.type] ?? "other";
    const name = this.nameOf(resource);
    if (service === "s3") return `arn:aws:s3:::${name}`;
    const path = service === "lambda" ? `function:${name}` : name;
    return `arn:aws:${service}:${REGION}:${ACCOUNT}:${path}`;
  }

  lineOf(path: string): number | undefined {
    return this.#document.lines.get(path);
  }

  #guarded(work: () => unknown): unknown {
    if (this.#deep >= DEEP_MAX) return UNKNOWN;
    this.#deep += 1;
    try {
      return work();
    } finally {
      this.#deep -= 1;
    }
  }

  #call(name: string, given: unknown): unknown {
    if (name === "Ref") return this.#ref(String(given));
    if (name === "Fn::GetAtt") return this.#attribute(given);
    if (name === "Fn::Sub") return this.#sub(given);
    if (name === "Fn::Join" && Array.isArray(given)) {
      const [by, list] = given.map((each) => this.value(each));
      if (!Array.isArray(list) || list.includes(UNKNOWN)) return UNKNOWN;
      return list.map(String).join(String(by));
    }
    return UNKNOWN; // V2
  }

  #ref(name: string): unknown {
    if (name === "AWS::NoValue") return undefined;
    if (Object.hasOwn(PSEUDO, name)) return PSEUDO[name];
    const parameter = this.#parameters[name];
    if (isObject(parameter)) {
      const { Default: fallback } = parameter;
      return fallback === undefined || fallback === "" ? UNKNOWN : fallback; // V3
    }
    const resource = this.resources.find(({ id }) => id === name);
    if (resource === undefined) return UNKNOWN;
    if (resource.type === "AWS::SQS::Queue") return stackQueueUrl(this.nameOf(resource));
    return resource.type === "AWS::SNS::Topic" ? this.arnOf(resource) : this.nameOf(resource);
  }

  #attribute(given: unknown): unknown {
    const [name, attribute] = Array.isArray(given) ? given : String(given).split(".");
    const resource = this.resources.find(({ id }) => id === name);
    if (resource === undefined) return UNKNOWN;
    if (attribute === "Arn" || attribute === "TopicArn") return this.arnOf(resource);
    if (/^(QueueName|TopicName|FunctionName)$/.test(String(attribute)))
      return this.nameOf(resource);
    return attribute === "QueueUrl" ? stackQueueUrl(this.nameOf(resource)) : UNKNOWN;
  }

  #sub(given: unknown): unknown {
    const [pattern, values] = Array.isArray(given) ? given : [given, {}];
    let complete = true;
    const text = String(pattern).replaceAll(/\$\{([^!}][^}]*)\}/g, (_, name: string) => {
      const own = isObject(values) && Object.hasOwn(values, name) ? this.value(values[name]) : null;
      const value = own ?? (name.includes(".") ? this.#attribute(name) : this.#ref(name));
      if (typeof value !== "string" && typeof value !== "number") complete = false;
      return String(value);
    });
    return complete ? text : UNKNOWN;
  }

  /** Text with variables of the Serverless Framework: those of the file itself are known. */
  #text(text: string): unknown {
    if (!text.includes("${")) return text;
    const [, path, fallback] =
      /^\$\{self:([\w.-]+)(?:,\s*['"]?([^'"}]*)['"]?)?\}$/.exec(text) ?? [];
    if (path === undefined) return UNKNOWN;
    const value = this.#guarded(() => this.value(at(this.#document.root, path.split("."))));
    return value ?? fallback ?? UNKNOWN;
  }
}

const NAMES: Readonly<Record<string, string>> = {
  "AWS::SQS::Queue": "QueueName",
  "AWS::SNS::Topic": "TopicName",
  "AWS::S3::Bucket": "BucketName",
  "AWS::Lambda::Function": "FunctionName",
  "AWS::Serverless::Function": "FunctionName",
  "AWS::CloudWatch::Alarm": "AlarmName",
};
const SERVICES: Readonly<Record<string, string>> = {
  "AWS::SQS::Queue": "sqs",
  "AWS::SNS::Topic": "sns",
  "AWS::S3::Bucket": "s3",
  "AWS::Lambda::Function": "lambda",
  "AWS::Serverless::Function": "lambda",
};

export function stackQueueUrl(name: string): string {
  return `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${name}`;
}

export function objectAt(object: TemplateObject, name: string): TemplateObject {
  const value = object[name];
  return isObject(value) ? value : {};
}

function at(object: TemplateObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), object);
}
