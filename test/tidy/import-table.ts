// Import table: the table allows every import of a part (H1 of rooms.ts).

import { dirname, join } from "node:path/posix";
import { allows, FILES_MAX, ROOMS, type Room, roomOf, USER_MODULE } from "./rooms.ts";
import type { Import, SourceFile, Violation } from "./source-file.ts";

export function checkImportTable(files: readonly SourceFile[]): Violation[] {
  return [...files.flatMap(checkFile), ...checkFilesMax(files)];
}

function checkFile(file: SourceFile): Violation[] {
  const room = roomOf(file.path);
  if (room === null) return [];
  const rules = ROOMS[room];
  if (rules === undefined) {
    return [{ path: file.path, line: 1, message: `"${room}" is not in the import table` }];
  }
  return file.imports.flatMap((item) => {
    const reason = refusal(file.path, room, rules, item);
    return reason === null ? [] : [{ path: file.path, line: item.line, message: reason }];
  });
}

function refusal(path: string, room: string, rules: Room, item: Import): string | null {
  const { specifier, typeOnly } = item;
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier);
    return allows(rules.packages, name) ? null : `${room} may not import the package ${name}`;
  }
  const target = join(dirname(path), specifier);
  const wanted = roomOf(target);
  if (wanted === null) return `${room} may not import ${target}, which is outside the import table`;
  if (wanted === room || allows(rules.imports, wanted)) return null;
  if (allows(rules.files ?? [], target)) return null;
  if (!allows(rules.types ?? [], wanted)) return `${room} may not import ${wanted}`;
  return typeOnly ? null : `${room} may import types of ${wanted}, not values`;
}

/** "@scope/name/deep" -> "@scope/name", "node:fs/promises" -> "node:fs"; USER_MODULE. */
function packageOf(specifier: string): string {
  if (specifier.startsWith("pathToFileURL(")) return USER_MODULE;
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function checkFilesMax(files: readonly SourceFile[]): Violation[] {
  return Object.entries(FILES_MAX).flatMap(([room, packages]) =>
    Object.entries(packages).flatMap(([name, max]) => {
      const users = files.filter(
        ({ path, imports }) =>
          roomOf(path) === room && imports.some(({ specifier }) => packageOf(specifier) === name),
      );
      return users.slice(max).map(({ path }) => ({
        path,
        line: 1,
        message: `only ${max} file of ${room} may import ${name}, as ${users[0]?.path} does`,
      }));
    }),
  );
}
