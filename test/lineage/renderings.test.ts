// Renderings: lineage documents are judged by third-party code, and each judge is shown to reject a
// broken document.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { fetchLineageTools } from "../../scripts/lineage-tools.ts";
import type { JsonValue } from "../../src/core/encoding/canonical-json.ts";
import { renderDcat } from "../../src/lineage/dcat.ts";
import type { LineageFacts } from "../../src/lineage/lineage-facts.ts";
import { renderOpenLineage } from "../../src/lineage/openlineage.ts";
import { renderProv } from "../../src/lineage/prov.ts";
import { renderStac } from "../../src/lineage/stac.ts";
import { CONTINUING, FAILED, LIVE, REPLAY } from "./sample-facts.ts";

const python = fetchLineageTools();
const renderings = {
  prov: renderProv,
  dcat: renderDcat,
  stac: renderStac,
  openlineage: renderOpenLineage,
} as const;
type Format = keyof typeof renderings;

beforeEach((context) => {
  if (typeof python === "string") return;
  const note = `lineage tools are missing: ${python.missing}`;
  if (process.env.TIDEGATE_REQUIRE_ALL === "1") throw new Error(note);
  context.skip(note);
});

/** The problems that third-party code finds in each document. */
function judge(documents: readonly { as: Format; document: unknown }[]): string[][] {
  const script = join(import.meta.dirname, "check.py");
  const input = JSON.stringify(documents);
  const { stdout, stderr } = spawnSync(String(python), [script], { input, encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as string[][];
}

function render(as: Format, facts: LineageFacts): JsonValue {
  return JSON.parse(JSON.stringify(renderings[as](facts))) as JsonValue;
}

test("every rendering of every run is valid for third-party readers", () => {
  const complete = [LIVE, REPLAY, FAILED];
  const documents = (Object.keys(renderings) as Format[]).flatMap((as) =>
    complete.map((facts) => ({ as, document: render(as, facts) })),
  );
  const continuing = (["stac", "dcat", "openlineage"] as const).map((as) => ({
    as,
    document: render(as, CONTINUING),
  }));
  const all = [...documents, ...continuing];
  expect(judge(all)).toEqual(all.map(() => []));
});

/** A document with one fault that its readers must notice. */
const BROKEN: readonly { as: Format; fault: string; break: (document: never) => void }[] = [
  {
    as: "stac",
    fault: "no dates",
    break: (item: { properties: Record<string, unknown> }) => delete item.properties.end_datetime,
  },
  {
    as: "stac",
    fault: "a checksum that is not a multihash",
    break: (item: { assets: Record<string, Record<string, unknown>> }) =>
      Object.assign(item.assets.readings as object, { "file:checksum": "00" }),
  },
  {
    as: "prov",
    fault: "an activity that used nothing",
    break: (document: { "@graph": Record<string, unknown>[] }) =>
      delete document["@graph"][0]?.used,
  },
  {
    as: "prov",
    fault: "outputs that no activity generated",
    break: (document: { "@graph": Record<string, unknown>[] }) => {
      for (const node of document["@graph"]) delete node.wasGeneratedBy;
    },
  },
  ...(["dcterms:title", "dcterms:description"] as const).map((term) => ({
    as: "dcat" as const,
    fault: `a dataset without ${term}`,
    break: (document: { "@graph": Record<string, unknown>[] }) =>
      delete document["@graph"][1]?.[term],
  })),
  ...(["dcat:accessURL", "spdx:checksum"] as const).map((term) => ({
    as: "dcat" as const,
    fault: `a distribution without ${term}`,
    break: (document: { "@graph": Record<string, unknown>[] }) =>
      delete document["@graph"][2]?.[term],
  })),
  {
    as: "openlineage",
    fault: "a run id that is not a UUID",
    break: (events: { run: { runId: string } }[]) => {
      for (const event of events) event.run.runId = "run-1";
    },
  },
  {
    as: "openlineage",
    fault: "a facet without a schema",
    break: (events: { run: { facets: Record<string, Record<string, unknown>> } }[]) =>
      delete events[0]?.run.facets.processing_engine?._schemaURL,
  },
  {
    as: "openlineage",
    fault: "a run that ends twice",
    break: (events: unknown[]) => events.push(events.at(-1)),
  },
];

test("third-party readers reject broken documents, fault by fault", () => {
  const documents = BROKEN.map(({ as, break: spoil }) => {
    const document = render(as, LIVE);
    spoil(document as never);
    return { as, document };
  });
  const verdicts = judge(documents);
  const unnoticed = BROKEN.filter((_, index) => verdicts[index]?.length === 0);
  expect(unnoticed.map(({ as, fault }) => `${as}: ${fault}`)).toEqual([]);
});

test("an input has the same hash in every rendering that has a place for it", () => {
  const documents = (["prov", "dcat", "stac", "openlineage"] as const).map((as) =>
    JSON.stringify(render(as, { ...LIVE, outputs: [], inputs: LIVE.inputs.slice(0, 1) })),
  );
  const [prov, dcat, stac, openlineage] = documents;
  const hex = LIVE.inputs[0]?.hash?.slice("sha256:".length) ?? "none";
  expect(prov).toContain(`"tg:sha256":"${hex}"`);
  expect(dcat).toContain(`"@value":"${hex}"`);
  expect(stac).toContain(`"file:checksum":"1220${hex}"`);
  expect(openlineage).toContain(`"hash":"sha256:${hex}"`);
  // A CRC is not a multihash, and SPDX has no name for it.
  const crc = { ...LIVE, outputs: [], inputs: LIVE.inputs.slice(1, 2) };
  expect(JSON.stringify(render("prov", crc))).toContain('"tg:checksum":"crc64nvme:');
  expect(JSON.stringify(render("openlineage", crc))).toContain('"hash":"crc64nvme:');
  expect(JSON.stringify([render("stac", crc), render("dcat", crc)])).not.toContain("0123456789");
});

test("the same facts in another order of arrival give the same documents", () => {
  const reversed = { ...LIVE, inputs: LIVE.inputs.toReversed() };
  for (const as of Object.keys(renderings) as Format[]) {
    expect(render(as, reversed)).toEqual(render(as, LIVE));
  }
});
