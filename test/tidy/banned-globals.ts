// Banned globals: time, randomness, the process, the disk and the network are used through ports,
// except in the parts marked for it (H2 of rooms.ts). Otherwise, the simulator could not control
// production code.

import { ROOMS, roomOf } from "./rooms.ts";
import { isNode, type Node, type SourceFile, type Violation, walk } from "./source-file.ts";

/** Name -> replacement. Maps, because an object also has `toString`. */
const BANNED: ReadonlyMap<string, string> = new Map([
  ["Date", "the Clock port"],
  ["performance", "the Clock port"],
  ["setTimeout", "the Clock port"],
  ["setInterval", "the Clock port"],
  ["setImmediate", "the Turn port"],
  ["process", "options given by the composition root"],
  ["fetch", "a port"],
  ["WebSocket", "a port"],
  ["EventSource", "a port"],
]);

/** Names of the global object; only its members may be read. */
const GLOBAL_OBJECTS: ReadonlySet<string> = new Set(["globalThis", "global"]);

/** Members of any object, and imports: `crypto.randomUUID`, an imported `randomUUID`. */
const BANNED_MEMBERS: ReadonlyMap<string, string> = new Map([
  ["randomUUID", "the Random port"],
  ["getRandomValues", "the Random port"],
  ["randomBytes", "the Random port"],
  ["randomFill", "the Random port"],
  ["randomFillSync", "the Random port"],
  ["randomInt", "the Random port"],
]);

/** Members of one object only. */
const BANNED_PAIRS: ReadonlyMap<string, string> = new Map([
  ["Math.random", "the Random port"],
  ["AbortSignal.timeout", "the Clock port"],
]);

export function checkBannedGlobals(file: SourceFile): Violation[] {
  const room = roomOf(file.path);
  if (room === null || ROOMS[room]?.machine) return [];
  const own = declaredNames(file.program);
  const violations: Violation[] = [];
  walk(file.program, (node, parent, field) => {
    const use = bannedUse(node, parent, field, own);
    for (const { name, instead } of [
      ...(use === null ? [] : [use]),
      ...bannedParts(node, parent),
    ]) {
      const message = `${room} may not use ${name}: use ${instead}`;
      violations.push({ path: file.path, line: file.lineOf(node.start), message });
    }
  });
  return violations;
}

function bannedUse(
  node: Node,
  parent: Node | null,
  field: string,
  own: ReadonlySet<string>,
): { name: string; instead: string } | null {
  if (node.type === "MemberExpression") {
    const object = nameOf(node.object);
    const name = nameOf(node.property) ?? "";
    const instead =
      BANNED_MEMBERS.get(name) ??
      BANNED_PAIRS.get(`${object}.${name}`) ??
      (GLOBAL_OBJECTS.has(object ?? "") ? BANNED.get(name) : undefined);
    return instead === undefined ? null : { name, instead };
  }
  if (node.type === "ImportSpecifier") {
    const name = nameOf(node.imported) ?? "";
    const instead = BANNED_MEMBERS.get(name);
    return instead === undefined ? null : { name, instead };
  }
  if (node.type !== "Identifier" || !isReference(parent, field)) return null;
  const name = String(node.name);
  if (own.has(name)) return null;
  if (GLOBAL_OBJECTS.has(name) && parent?.type !== "MemberExpression") {
    return { name, instead: "the global itself, by its name" };
  }
  const instead = BANNED.get(name);
  return instead === undefined ? null : { name, instead };
}

/** Members that a pattern reads, whatever it calls them: `const { random: draw } = Math`. */
function bannedParts(node: Node, parent: Node | null): { name: string; instead: string }[] {
  if (node.type !== "ObjectPattern") return [];
  const object = nameOf(parent?.init) ?? nameOf(parent?.right); // A declaration; or an assignment.
  return (node.properties as readonly Node[]).flatMap(({ key }) => {
    const name = nameOf(key) ?? "";
    const instead = BANNED_MEMBERS.get(name) ?? BANNED_PAIRS.get(`${object}.${name}`);
    return instead === undefined ? [] : [{ name, instead }];
  });
}

/** Whether an identifier in this position reads a value, rather than naming a member or a type. */
function isReference(parent: Node | null, field: string): boolean {
  if (parent === null) return false;
  if (parent.type.startsWith("TS")) return field === "expression";
  if (parent.type === "MemberExpression") return field !== "property" || parent.computed === true;
  if (field === "key") return parent.computed === true;
  return !/^(Import|Export|Label)/.test(parent.type);
}

/** Names that the file declares; they shadow the globals. */
function declaredNames(program: Node): Set<string> {
  const names = new Set<string>();
  const bind = (target: unknown): void => {
    if (!isNode(target)) return;
    if (target.type === "Identifier") names.add(String(target.name));
    else if (target.type === "AssignmentPattern") bind(target.left);
    else if (target.type === "RestElement") bind(target.argument);
    else if (target.type === "Property") bind(target.value);
    else if (target.type === "ObjectPattern") each(target.properties, bind);
    else if (target.type === "ArrayPattern") each(target.elements, bind);
  };
  walk(program, (node) => {
    if (node.type === "VariableDeclarator") bind(node.id);
    if (/^Import.*Specifier$/.test(node.type)) bind(node.local);
    if (/^(Function|ArrowFunction|Class)/.test(node.type)) {
      bind(node.id);
      each(node.params, bind);
    }
  });
  return names;
}

function each(list: unknown, visit: (item: unknown) => void): void {
  if (Array.isArray(list)) for (const item of list) visit(item);
}

function nameOf(value: unknown): string | null {
  if (!isNode(value)) return null;
  if (value.type === "Identifier") return String(value.name);
  return value.type === "Literal" && typeof value.value === "string" ? value.value : null;
}
