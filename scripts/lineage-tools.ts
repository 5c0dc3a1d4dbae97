// Lineage tools: the Python packages that judge lineage documents, from PyPI.

import { join } from "node:path";
import type { Missing } from "./local-server.ts";
import { fetchPythonEnvironment } from "./python-environment.ts";

const REQUIREMENTS = join(import.meta.dirname, "lineage-requirements.txt");

/** The interpreter that has the packages, or why it is not available. */
export function fetchLineageTools(): string | Missing {
  return fetchPythonEnvironment("lineage", REQUIREMENTS);
}

if (import.meta.main) {
  const python = fetchLineageTools();
  if (typeof python !== "string") {
    process.stderr.write(`lineage tools: ${python.missing}\n`);
    process.exit(1);
  }
}
