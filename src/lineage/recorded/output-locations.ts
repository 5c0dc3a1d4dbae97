// Output locations: where a pipeline's outputs can be read, for lineage documents.
//   O1. No password is in a location: user names and passwords are removed from URLs.

import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { LocationOf } from "./recorded-run.ts";

/** Locations by output. Without the pipeline file, columns are not known. */
export function outputLocations(pipeline: Pipeline | null, ledgerUrl: string): LocationOf {
  const sink = pipeline?.sink ?? null;
  const tables = typeof sink === "object" && sink !== null ? sink : null;
  const accessUrl = withoutSecrets(tables?.database ?? ledgerUrl);
  return (name) => {
    const columns = tables?.tables[name]?.columns ?? {};
    return {
      kind: "table",
      accessUrl,
      columns: Array.isArray(columns)
        ? columns.map((column: string) => ({ name: column, type: "existing" }))
        : Object.entries(columns).map(([column, type]) => ({ name: column, type: String(type) })),
    };
  };
}

/** O1 */
function withoutSecrets(url: string): string {
  if (!/^[a-z]+:\/\//i.test(url)) return url.startsWith("sqlite:") ? url : `sqlite:${url}`;
  if (!URL.canParse(url)) return url.replace(/\/\/[^@/]*@/, "//");
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  parsed.search = "";
  return parsed.href;
}
