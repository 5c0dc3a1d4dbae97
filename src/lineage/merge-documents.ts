// Merge documents: one document about several runs, as each format allows.
//   M1. PROV and DCAT are graphs: nodes with the same id are one node, and the first description of
//       a node counts.
//   M2. Several STAC items are a collection of features. OpenLineage events stay a list.

import type { JsonObject, JsonValue } from "../core/encoding/canonical-json.ts";
import { renderDcat } from "./dcat.ts";
import type { LineageFacts } from "./lineage-facts.ts";
import { renderOpenLineage } from "./openlineage.ts";
import { LINEAGE_CONTEXT, renderProv } from "./prov.ts";
import { renderStac } from "./stac.ts";

export const LINEAGE_FORMATS = ["prov", "dcat", "stac", "openlineage"] as const;
/** The format of a lineage document. */
export type LineageFormat = (typeof LINEAGE_FORMATS)[number];

/** One document about all of `facts`, which is not empty. */
export function renderLineage(format: LineageFormat, facts: readonly LineageFacts[]): JsonValue {
  switch (format) {
    case "prov":
      return mergeGraphs(facts.map(renderProv));
    case "dcat":
      return mergeGraphs(facts.map(renderDcat));
    case "stac": {
      const [first, ...more] = facts.map(renderStac);
      if (first === undefined || more.length === 0) return first ?? null;
      return { type: "FeatureCollection", features: [first, ...more] }; // M2
    }
    case "openlineage":
      return facts.flatMap(renderOpenLineage);
  }
}

/** M1 */
function mergeGraphs(documents: readonly JsonObject[]): JsonObject {
  const nodes = new Map<string, JsonObject>();
  for (const document of documents) {
    for (const node of document["@graph"] as readonly JsonObject[]) {
      const id = String(node["@id"]);
      const existing = nodes.get(id);
      nodes.set(id, existing === undefined ? node : joined(existing, node));
    }
  }
  return { "@context": LINEAGE_CONTEXT, "@graph": [...nodes.values()] };
}

/** A catalogue lists the datasets of all documents; other nodes are the same in each. */
function joined(first: JsonObject, second: JsonObject): JsonObject {
  const [a, b] = [first["dcat:dataset"], second["dcat:dataset"]];
  if (!Array.isArray(a) || !Array.isArray(b)) return first;
  return { ...first, "dcat:dataset": [...a, ...b] };
}
