// Producer patterns: programs that send messages.

import { isSensitive } from "../rules/sensitive-names.ts";
import type { CodePattern } from "../setup.ts";
import type { CodeContext, CodeFile } from "./code-context.ts";
import type { QueueCall } from "./queue-calls.ts";
import {
  type AnyNode,
  enclosingFunction,
  isFunction,
  isLoop,
  literalText,
  propertiesOf,
  type TreeNode,
  upwards,
  within,
} from "./syntax-tree.ts";

/** Expressions that differ with every call. */
const VOLATILE =
  /\brandomUUID\(|\buuid(v[1-7])?\(|\bv[1467]\(|\bnanoid\(|\bulid\(|Date\.now\(|new Date\(\s*\)|Math\.random\(/;
const PROTECTED = /encrypt|cipher|hash|mask|token|redact|sign|hmac|digest/i;
const ITERATORS = /^(map|forEach|flatMap|reduce)$/;

export function producerPatterns(context: CodeContext, tested: boolean): readonly CodePattern[] {
  const { calls } = context;
  const sends = calls.filter(({ kind }) => kind === "send" || kind === "publish");
  return [
    ...sends.flatMap((call) => sendPatterns(context, call)),
    ...sends.flatMap((call) => loopPatterns(context, call)),
    ...sends.flatMap((call) => writePatterns(context, call)),
    ...sends.flatMap((call) => bodyPatterns(context, call)),
    ...testPatterns(context, tested),
  ];
}

function sendPatterns({ report, text }: CodeContext, call: QueueCall): readonly CodePattern[] {
  const { at, input } = call;
  const group = input?.get("MessageGroupId");
  const dedup = input?.get("MessageDeduplicationId");
  const body = input?.get("MessageBody") ?? input?.get("Message");
  const patterns: CodePattern[] = [];
  if (group !== undefined) {
    patterns.push(report("sends-groups", at, "a MessageGroupId is sent"));
    const name = literalText(group);
    if (name !== null) {
      const detail = `all messages are in the message group "${name}"`;
      patterns.push(report("one-message-group", at, detail));
    }
  }
  if (dedup !== undefined && VOLATILE.test(source(text, dedup))) {
    const detail = `MessageDeduplicationId is ${source(text, dedup)}`;
    patterns.push(report("dedup-id-volatile", at, detail));
  }
  if (group !== undefined && dedup === undefined && body !== undefined) {
    if (VOLATILE.test(source(text, body))) {
      patterns.push(report("body-volatile", at, "the body differs with every send"));
    }
  }
  return patterns;
}

function loopPatterns({ report }: CodeContext, { at, kind }: QueueCall): readonly CodePattern[] {
  if (kind !== "send") return [];
  for (const each of upwards(at)) {
    if (isLoop(each) || isIterated(each)) {
      return [report("single-sends", at, "messages are sent one by one in a loop")];
    }
    if (isFunction(each) || each.node.type === "CatchClause") return [];
  }
  return [];
}

/** A function that is called for each item: `list.map((item) => ...)`. */
function isIterated(at: TreeNode): boolean {
  const { parent } = at;
  if (!isFunction(at) || parent?.node.type !== "CallExpression") return false;
  const { callee } = parent.node;
  if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return false;
  return ITERATORS.test(callee.property.name);
}

/** A conditional write, followed by a send in the same function. */
function writePatterns(context: CodeContext, { at }: QueueCall): readonly CodePattern[] {
  const { calls, report, text } = context;
  const area = enclosingFunction(at);
  const write = calls.find((call) => {
    if (call.kind !== "put" || !within(area, call.at)) return false;
    const condition = call.input?.get("ConditionExpression");
    if (condition === undefined || call.at.node.end > at.node.start) return false;
    return source(text, condition).includes("attribute_not_exists");
  });
  const code = text.slice(area.node.start, area.node.end);
  if (write === undefined || /outbox|sentAt|sent_at/i.test(code)) return [];
  return [report("write-then-send", write.at, "a row is written before its message is sent")];
}

function bodyPatterns({ report, text }: CodeContext, call: QueueCall): readonly CodePattern[] {
  const { at, input } = call;
  const body = input?.get("MessageBody") ?? input?.get("Message");
  const fields = body === undefined ? null : propertiesOf(stringified(body));
  return [...(fields ?? [])].flatMap(([name, value]): CodePattern[] => {
    if (!isSensitive(name) || PROTECTED.test(source(text, value))) return [];
    return [report("sensitive-in-message", at, `the message contains ${name} unencrypted`)];
  });
}

/** The argument of JSON.stringify(). */
function stringified(node: AnyNode): AnyNode | undefined {
  if (node.type !== "CallExpression") return undefined;
  return node.arguments[0] as AnyNode | undefined;
}

function testPatterns(context: CodeContext, tested: boolean): readonly CodePattern[] {
  const { calls, report, tree, text } = context;
  if (tested) return [];
  const created = tree.nodes.find(({ node }) => {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return false;
    return node.callee.name === "createProducer" && /["']tidegate\/produce["']/.test(text);
  });
  const sends = calls.find(({ kind, input }) => kind === "send" && input?.has("MessageGroupId"));
  const at = created ?? sends?.at;
  if (at === undefined) return [];
  return [report("producer-untested", at, "this producer has no compliance test")];
}

export function attributePatterns(
  { calls, report }: CodeContext,
  documents: readonly CodeFile[],
): readonly CodePattern[] {
  const pages = documents.filter(({ file }) => file.endsWith(".md"));
  return calls.flatMap(({ at, input }): CodePattern[] => {
    const attributes = propertiesOf(input?.get("MessageAttributes"));
    return [...(attributes?.keys() ?? [])].flatMap((name): CodePattern[] => {
      if (pages.some(({ text }) => text.includes(name))) return [];
      const detail = `the message attribute ${name} is not explained in any Markdown file`;
      return [report("attributes-undocumented", at, detail)];
    });
  });
}

function source(text: string, { start, end }: AnyNode): string {
  return text.slice(start, end);
}
