// Read code: recognises the patterns that the code rules report (rules/*-code-rules.ts).
//   C1. A pattern is reported only where the code shows it. What comes from elsewhere, such as an
//       input that a function builds, is not reported.
//   C2. Tests are read only for compliance tests: what they do on purpose is not reported.

import type { CodePattern, Setup } from "../setup.ts";
import type { Unread } from "../unread.ts";
import { cdkSetup } from "./cdk-setup.ts";
import type { CodeContext, CodeFile } from "./code-context.ts";
import { Constants } from "./constants.ts";
import { consumerPatterns } from "./consumer-patterns.ts";
import { attributePatterns, producerPatterns } from "./producer-patterns.ts";
import { parsePython } from "./python-tree.ts";
import { queueCalls } from "./queue-calls.ts";
import { calledName, literalText, parseCode, propertiesOf } from "./syntax-tree.ts";

export interface CodeReading {
  readonly patterns: readonly CodePattern[];
  /** Queues of a CDK application, file by file. */
  readonly stacks: readonly Setup[];
  /** Files that could not be parsed. */
  readonly unread: readonly Unread[];
}

const TEST_FILE =
  /(^|\/)(tests?|__tests__|e2e|benchmarks?)\/|\.(test|spec|e2e-spec)\.([mc]?[jt]s|[jt]sx)$|(^|\/)(test_[^/]*|[^/]*_test|conftest)\.py$/;
/** Files without any of these words have nothing to report, and are not parsed. */
const RELEVANT = /sqs|sns|queue|message|tidegate|boto3|Records|https?:\/\//i;
const CODE_FILE = /\.([mc]?[jt]s|[jt]sx|py)$/;
const COMPLIANCE = /\b(complianceTests|runCompliance|tidegate comply)\b/;

/** A project without Tidegate is not expected to have its tests. */
const TIDEGATE = /["']tidegate(\/\w+)?["']/;

/** `documents` are the project's Markdown files and workflows. */
export function readCode(
  files: readonly CodeFile[],
  documents: readonly CodeFile[] = [],
): CodeReading {
  const patterns: CodePattern[] = [];
  const unread: Unread[] = [];
  const stacks: Setup[] = [];
  const checks = [...files, ...documents].filter(({ file, text }) => {
    return (TEST_FILE.test(file) || !CODE_FILE.test(file)) && COMPLIANCE.test(withoutNotes(text));
  });
  const usesTidegate = [...files, ...documents].some(({ text }) => TIDEGATE.test(text));
  for (const { file, text } of files) {
    if (TEST_FILE.test(file) || !RELEVANT.test(text)) continue; // C2
    const tree = file.endsWith(".py") ? parsePython(text) : parseCode(file, text);
    if (tree.problem !== null) {
      unread.push({ reason: "unparsed", text: `${file} does not parse: ${tree.problem}` });
      continue;
    }
    const report: CodeContext["report"] = (pattern, at, detail) => {
      return { pattern, detail, location: { name: file, file, line: at.line } };
    };
    const constants = new Constants(tree);
    const calls = queueCalls(tree, constants);
    const context: CodeContext = { file, text: tree.code, tree, constants, calls, report };
    const stack = cdkSetup(context);
    if (stack !== null) stacks.push(stack);
    const tested = !usesTidegate || isTested(file, checks);
    patterns.push(
      ...consumerPatterns(context),
      ...producerPatterns(context, tested),
      ...attributePatterns(context, documents),
      ...literalPatterns(context),
    );
  }
  return { patterns, stacks, unread };
}

/** Whether a compliance test, or a workflow with tidegate comply, names the producer. */
function isTested(file: string, checks: readonly CodeFile[]): boolean {
  const name = withoutEnding(file.split("/").at(-1) ?? file);
  return checks.some(({ text }) => {
    const names = withoutNotes(text).match(/[\w.-]+\.[mc]?[jt]s\b/g) ?? [];
    return names.some((each) => withoutEnding(each) === name);
  });
}

function withoutEnding(name: string): string {
  return name.replace(CODE_FILE, "");
}

/** Text without lines that are comments in YAML. */
function withoutNotes(text: string): string {
  return text.replaceAll(/^\s*#.*$/gm, "");
}

const QUEUE_URL =
  /^https?:\/\/(?:sqs[.-][\w-]+\.amazonaws\.com|[\w-]+\.queue\.amazonaws\.com|queue\.amazonaws\.com)\/\d{12}\/[\w.-]+/;
/** This machine, and names without a dot, which only a network of containers has. */
const NEARBY =
  /^http:\/\/(127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|[\w-]+|[\w.-]*\.(internal|local|localhost|localstack\.cloud))(:|\/|$)/;
const AWS_CLIENT =
  /Client$|^(SQS|SNS|S3|DynamoDB|DocumentClient|client|resource|update|DynamoDBDocument)$/;

/** Patterns of single literals: URLs and options. */
function literalPatterns({ tree, report }: CodeContext): readonly CodePattern[] {
  return tree.nodes.flatMap((at): CodePattern[] => {
    const text = literalText(at.node);
    if (text !== null && QUEUE_URL.test(text)) {
      return [report("queue-url-in-code", at, `the code contains the queue URL ${text}`)];
    }
    const options = propertiesOf(at.node);
    if (options === null) return [];
    const patterns: CodePattern[] = [];
    const endpoint = literalText(options.get("endpoint"));
    const caller = at.parent === null ? null : calledName(at.parent);
    const ofAws = caller !== null && AWS_CLIENT.test(caller);
    if (endpoint?.startsWith("http://") && !NEARBY.test(endpoint) && ofAws) {
      const detail = `the client uses the endpoint ${endpoint}`;
      patterns.push(report("endpoint-without-tls", at, detail));
    }
    const attempts = options.get("maxAttempts");
    const client = at.parent?.node.type === "NewExpression";
    if (client && attempts?.type === "Literal" && attempts.value === 1) {
      patterns.push(report("sdk-retries-off", at, "the client makes one attempt per request"));
    }
    return patterns;
  });
}
