// Queue calls: the calls of AWS clients in a tree, both as commands (new SendMessageCommand) and as
// methods (sqs.sendMessage).

import type { Constants } from "./constants.ts";
import {
  type AnyNode,
  calledName,
  enclosingFunction,
  type SyntaxTree,
  type TreeNode,
  within,
} from "./syntax-tree.ts";

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
  sendmessages: "send-batch",
  receivemessage: "receive",
  receivemessages: "receive",
  deletemessage: "delete",
  deletemessagebatch: "delete-batch",
  deletemessages: "delete-batch",
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
  /** The fields that it is called with; null if they are not known. */
  readonly input: ReadonlyMap<string, AnyNode> | null;
}

export function queueCalls({ nodes }: SyntaxTree, constants: Constants): readonly QueueCall[] {
  return nodes.flatMap((at): QueueCall[] => {
    const { node } = at;
    const name = calledName(at);
    if (name === null || (node.type !== "CallExpression" && node.type !== "NewExpression")) {
      return [];
    }
    const command = node.type === "NewExpression";
    if (command !== name.endsWith("Command")) return [];
    const kind =
      KINDS[
        name
          .replace(/Command$/, "")
          .replaceAll("_", "")
          .toLowerCase()
      ];
    if (kind === undefined) return [];
    const [given] = node.arguments;
    const input = constants.properties(given as AnyNode | undefined, at);
    if (!command && !isAws(kind, name, given as AnyNode | undefined, input)) return [];
    return [{ kind, at: command ? sentAt(nodes, at) : at, input }];
  });
}

/** Where a command is sent, if it has a name until then: `await client.send(command)`. */
function sentAt(nodes: readonly TreeNode[], at: TreeNode): TreeNode {
  const declared = at.parent?.node;
  if (declared?.type !== "VariableDeclarator" || declared.id.type !== "Identifier") return at;
  const { name } = declared.id;
  const area = enclosingFunction(at);
  const sends = nodes.filter((each) => {
    if (each.node.type !== "CallExpression" || calledName(each) !== "send") return false;
    const [first] = each.node.arguments;
    return first?.type === "Identifier" && first.name === name && within(area, each);
  });
  return sends.length === 1 && sends[0] !== undefined ? sends[0] : at;
}

const AWS_FIELDS = ["QueueUrl", "TopicArn", "TargetArn", "TableName", "TransactItems"];
/** Methods of a queue object of boto3, which knows its URL. */
const OF_QUEUE_OBJECT = /^(receive_messages|send_messages|delete_messages)$/;

/** Other libraries have methods of these names too; those of AWS have fields of AWS. */
function isAws(
  kind: QueueCallKind,
  name: string,
  given: AnyNode | undefined,
  input: QueueCall["input"],
): boolean {
  if (OF_QUEUE_OBJECT.test(name)) return true;
  if (input === null) return kind !== "put" && kind !== "publish" && given?.type === "Identifier";
  return AWS_FIELDS.some((field) => input.has(field));
}
