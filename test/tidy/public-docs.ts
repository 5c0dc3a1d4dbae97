// Public docs: a name that users import has a JSDoc comment, which their editor shows.
//   D1. The rule starts at the entry points of package.json and follows re-exports to declarations.
//   D2. One overload with a comment documents the others.

import { dirname, join } from "node:path/posix";
import { isNode, type Node, type SourceFile, type Violation } from "./source-file.ts";

export function checkPublicDocs(
  files: readonly SourceFile[],
  entries: readonly string[],
): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const declarations = entries.flatMap((path) => publicDeclarations(byPath, path));
  const violations = new Map<string, Violation>();
  for (const { file, name } of declarations) {
    const starts = declarationsOf(file, name);
    const line = starts[0];
    if (line === undefined || starts.some((start) => hasDoc(file, start))) continue; // D2
    const message = `public "${name}" has no JSDoc comment: say what its signature does not`;
    violations.set(`${file.path} ${name}`, { path: file.path, line, message });
  }
  return [...violations.values()];
}

/** The source files of the subpaths in a package.json. */
export function publicEntries(manifest: {
  readonly exports: Readonly<Record<string, unknown>>;
}): string[] {
  return Object.values(manifest.exports).flatMap((target) => {
    const source = (target as { readonly "tidegate-source"?: string })["tidegate-source"];
    return source === undefined ? [] : [source.replace(/^\.\//, "")];
  });
}

interface PublicName {
  readonly file: SourceFile;
  readonly name: string;
}

function publicDeclarations(byPath: ReadonlyMap<string, SourceFile>, path: string): PublicName[] {
  const file = byPath.get(path);
  if (file === undefined) throw new Error(`${path} is not among the sources`);
  return bodyOf(file).flatMap((node) => {
    if (node.type === "ExportAllDeclaration") {
      return publicDeclarations(byPath, resolve(path, node.source as Node));
    }
    if (node.type !== "ExportNamedDeclaration") return [];
    if (isNode(node.declaration)) {
      return namesOf(node.declaration).map((name) => ({ file, name }));
    }
    const specifiers = node.specifiers as readonly Node[];
    const origin = isNode(node.source) ? resolve(path, node.source) : path;
    return specifiers.map(({ local }) => {
      return resolveName(byPath, origin, String((local as Node).name));
    });
  });
}

const IMPORTED = ["local", "imported"] as const;
const RE_EXPORTED = ["exported", "local"] as const;

function nameIn(specifier: Node, field: string): string {
  return String((specifier[field] as Node | undefined)?.name);
}

/** The file that declares `name`, which `path` imports or exports (D1). */
function resolveName(
  byPath: ReadonlyMap<string, SourceFile>,
  path: string,
  name: string,
): PublicName {
  const file = byPath.get(path);
  if (file === undefined) throw new Error(`${path} is not among the sources`);
  if (declarationsOf(file, name).length > 0) return { file, name };
  for (const node of bodyOf(file)) {
    if (!isNode(node.source) || !Array.isArray(node.specifiers)) continue;
    // An import names its origin `imported`, a re-export `local`; the name here is the other one.
    const [here, there] = node.type === "ImportDeclaration" ? IMPORTED : RE_EXPORTED;
    const match = (node.specifiers as readonly Node[]).find((each) => nameIn(each, here) === name);
    if (match === undefined) continue;
    return resolveName(byPath, resolve(path, node.source), nameIn(match, there));
  }
  throw new Error(`${path} does not declare "${name}"`);
}

/** The lines on which a file declares `name`: several for overloads. */
function declarationsOf(file: SourceFile, name: string): number[] {
  return bodyOf(file).flatMap((node) => {
    const declaration = isNode(node.declaration) ? node.declaration : node;
    return namesOf(declaration).includes(name) ? [file.lineOf(node.start)] : [];
  });
}

function hasDoc(file: SourceFile, line: number): boolean {
  return file.comments.some(
    ({ kind, text, line: start }) =>
      kind === "Block" && text.startsWith("*") && start + text.split("\n").length === line,
  );
}

function namesOf(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration") {
    const declarators = declaration.declarations as readonly Node[];
    return declarators.flatMap(({ id }) => (isNode(id) && id.name ? [String(id.name)] : []));
  }
  return isNode(declaration.id) && declaration.id.name ? [String(declaration.id.name)] : [];
}

function bodyOf(file: SourceFile): readonly Node[] {
  return file.program.body as readonly Node[];
}

function resolve(from: string, source: Node): string {
  return join(dirname(from), String(source.value));
}
