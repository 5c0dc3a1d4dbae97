// Query input: decodes flat parameters (`Attribute.1.Name=...`) to the same input as JSON.
//   I1. Parameters come from the URL and, in a POST, also from the form body; the body overrides
//       the URL.
//   I2. Dots only separate; names that contain dots are values here, never keys.
//   I3. Numbered elements are ordered by number; gaps are allowed. A single element may omit its
//       number.
//   I4. The number and the depth of parameters are limited.

import { unreachable } from "../../../core/assert.ts";
import { mediaTypeOf } from "../../../core/media-type-of.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { HttpRequest } from "../../../ports/http/http.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { RefusedAction } from "./call.ts";
import { invalidParameterValue } from "./parameters.ts";
import type { ListShape, MapShape, Shape, StructureShape } from "./shape.ts";
import { isBase64 } from "./shape-check.ts";
import { decodeUtf8 } from "./utf8.ts";

export const PARAMETERS_MAX = 2_000;
const DEPTH_MAX = 10;

/** One segment of a parameter name, with its value and its children. */
export interface ParameterNode {
  value: string | undefined;
  readonly children: Map<string, ParameterNode>;
}

/** Reads all parameters of a request into one tree (I1), or returns why it refuses them. */
export function readParameters(request: HttpRequest): Result<ParameterNode, Fault> {
  const root = createNode();
  const form = isForm(request) ? decodeUtf8(request.body) : "";
  if (form === null) return malformed("The request body is not UTF-8.");
  let budget = PARAMETERS_MAX; // I4
  for (const source of [request.query, form]) {
    if (source === "") continue;
    const pairs = source.split("&", PARAMETERS_MAX + 1);
    budget -= pairs.length;
    if (budget < 0) return malformed(`A request has at most ${PARAMETERS_MAX} parameters.`);
    for (const pair of pairs) {
      const refused = addParameter(root, pair);
      if (refused !== null) return refused;
    }
  }
  return succeed(root);
}

/** Builds the input of an action from the parameters that its shape names. */
export function decodeInput(shape: StructureShape, root: ParameterNode): Result<object, Fault> {
  const problem: Problem = { refusal: null };
  const input = decodeStructure(shape, root, problem);
  return problem.refusal ?? succeed(input);
}

/** Stores the first refusal; decoding continues, and its result is discarded. */
interface Problem {
  refusal: RefusedAction | null;
}

function isForm(request: HttpRequest): boolean {
  if (request.method !== "POST") return false;
  const type = mediaTypeOf(request.headers);
  return type === "" || type === "application/x-www-form-urlencoded";
}

function createNode(): ParameterNode {
  return { value: undefined, children: new Map() };
}

function addParameter(root: ParameterNode, pair: string): RefusedAction | null {
  const equals = pair.indexOf("=");
  const name = decodeForm(equals === -1 ? pair : pair.slice(0, equals));
  const value = equals === -1 ? "" : decodeForm(pair.slice(equals + 1));
  if (name === null || value === null)
    return malformed("A parameter is not percent-encoded UTF-8.");
  if (name === "") return null;
  const segments = name.split(".", DEPTH_MAX + 1);
  if (segments.length > DEPTH_MAX)
    return malformed("The name of a parameter is nested too deeply.");
  let node = root;
  for (const segment of segments) {
    let child = node.children.get(segment);
    if (child === undefined) {
      child = createNode();
      node.children.set(segment, child);
    }
    node = child;
  }
  node.value = value;
  return null;
}

function decodeForm(encoded: string): string | null {
  if (!encoded.includes("%") && !encoded.includes("+")) return encoded;
  try {
    return decodeURIComponent(encoded.replaceAll("+", " "));
  } catch {
    return null;
  }
}

function decodeStructure(shape: StructureShape, node: ParameterNode, problem: Problem): object {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(shape.fields)) {
    const child = childOf(node, name, field);
    if (child !== undefined) result[name] = decode(field, child, name, problem);
  }
  return result;
}

/** The node of a field's parameters; flattened lists and maps are named after their elements. */
function childOf(node: ParameterNode, name: string, field: Shape): ParameterNode | undefined {
  const own = node.children.get(name);
  if (field.kind !== "list" && field.kind !== "map") return own;
  if (field.wrapped) return own?.children.get(field.query) ?? own;
  return node.children.get(field.query) ?? own;
}

function decode(shape: Shape, node: ParameterNode, name: string, problem: Problem): unknown {
  switch (shape.kind) {
    case "string":
      return node.value;
    case "integer":
      return decodeInteger(node.value, name, problem);
    case "boolean":
      return node.value === undefined ? undefined : node.value === "true";
    case "blob":
      return decodeBlob(node.value, name, problem);
    case "list":
      return decodeList(shape, node, name, problem);
    case "map":
      return decodeMap(shape, node, name, problem);
    case "structure":
      return decodeStructure(shape, node, problem);
    default:
      return unreachable(shape);
  }
}

function decodeInteger(value: string | undefined, name: string, problem: Problem): unknown {
  if (value === undefined) return undefined;
  const number = /^[+-]?\d{1,15}$/.test(value) ? Number(value) : null;
  if (number === null)
    problem.refusal ??= invalidParameterValue(value, name, "Must be an integer.");
  return number;
}

function decodeBlob(value: string | undefined, name: string, problem: Problem): unknown {
  if (value !== undefined && !isBase64(value)) {
    problem.refusal ??= invalidParameterValue(value, name, "Must be base64.");
  }
  return value;
}

function decodeList(shape: ListShape, node: ParameterNode, name: string, problem: Problem) {
  const elements = elementsOf(node).map((child) => decode(shape.member, child, name, problem));
  if (elements.length === 0 && node.value) return [decode(shape.member, node, name, problem)]; // I3
  return elements.filter((element) => element !== undefined);
}

function decodeMap(shape: MapShape, node: ParameterNode, name: string, problem: Problem) {
  const result: Record<string, unknown> = Object.create(null);
  for (const child of elementsOf(node)) {
    const key = child.children.get(shape.key)?.value;
    const value = child.children.get(shape.valueKey) ?? createNode();
    if (key === undefined) {
      problem.refusal ??= refuse(
        "MissingParameter",
        `The request must contain the parameter ${shape.query}.${shape.key}.`,
      );
      continue;
    }
    const decoded = decode(shape.value, value, name, problem);
    if (decoded === undefined) {
      problem.refusal ??= refuse(
        "MissingParameter",
        `The request must contain the parameter ${shape.query}.${shape.valueKey}.`,
      );
    }
    result[key] = decoded;
  }
  return result;
}

/** The numbered children of a node, ordered by number (I3). */
function elementsOf(node: ParameterNode): ParameterNode[] {
  return [...node.children]
    .filter(([segment]) => /^\d{1,9}$/.test(segment))
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, child]) => child);
}

function malformed(message: string): RefusedAction {
  return refuse("MalformedInput", message);
}
