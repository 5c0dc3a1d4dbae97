// Quiet warnings: keeps Node's warnings about its own experimental features off the screen. On some
// supported versions Node prints one for SQLite and one for types in pipeline files; the user can
// do nothing about either. All other warnings are printed.
//   W1. Import this module before any other: Node warns when a feature is first loaded.

type EmitWarning = typeof process.emitWarning;

/** Wraps `process.emitWarning`. */
export function withoutExperimental(emit: EmitWarning): EmitWarning {
  const emitOthers = (warning: string | Error, ...rest: unknown[]) => {
    const [options] = rest;
    const type =
      typeof options === "object" ? (options as { type?: string } | null)?.type : options;
    const name = typeof warning === "string" ? type : warning.name;
    if (name !== "ExperimentalWarning") (emit as (...args: unknown[]) => void)(warning, ...rest);
  };
  return emitOthers as EmitWarning;
}

process.emitWarning = withoutExperimental(process.emitWarning.bind(process)); // W1
