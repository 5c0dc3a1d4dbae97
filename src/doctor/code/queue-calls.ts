// Queue calls: the calls of AWS clients in a tree, both as commands (new SendMessageCommand) and as
// methods (sqs.sendMessage).

import type { AnyNode } from "acorn";
import { calledName, propertiesOf, type SyntaxTree, type TreeNode } from "./syntax-tree.ts";

export type QueueCallKind =
  | "send"
  | "send-batch"
  | "receive"
  | "delete"
  | "delete-batch"
  | "heartbeat"
  | "publish"
  | "put";

const KINDS: Readonly<Record<string, QueueCallKind>> = {
  sendmessage: "send",
  sendmessagebatch: "send-batch",
  receivemessage: "receive",
  deletemessage: "delete",
  deletemessagebatch: "delete-batch",
  changemessagevisibility: "heartbeat",
  changemessagevisibilitybatch: "heartbeat",
  publish: "publish",
  publishbatch: "publish",
  put: "put",
  putitem: "put",
  transactwrite: "put",
};

export interface QueueCall {
  readonly kind: QueueCallKind;
  readonly at: TreeNode;
  /** The object literal that it is called with; null if it is not known. */
  readonly input: ReadonlyMap<string, AnyNode> | null;
}

export function queueCalls({ nodes }: SyntaxTree): readonly QueueCall[] {
  return nodes.flatMap((at): QueueCall[] => {
    const { node } = at;
    const name = calledName(at);
    if (name === null || (node.type !== "CallExpression" && node.type !== "NewExpression")) {
      return [];
    }
    const command = node.type === "NewExpression";
    if (command !== name.endsWith("Command")) return [];
    const kind = KINDS[name.replace(/Command$/, "").toLowerCase()];
    if (kind === undefined || !isAws(kind, command, node.arguments[0])) return [];
    return [{ kind, at, input: propertiesOf(node.arguments[0]) }];
  });
}

const AWS_FIELDS = ["QueueUrl", "TopicArn", "TargetArn", "TableName", "TransactItems"];

/** Other libraries have methods of these names too; those of AWS have fields of AWS. */
function isAws(kind: QueueCallKind, command: boolean, given: AnyNode | undefined): boolean {
  if (command) return true;
  const input = propertiesOf(given);
  if (input === null) return kind !== "put" && kind !== "publish" && given?.type === "Identifier";
  return AWS_FIELDS.some((field) => input.has(field));
}
