// SARIF schema: the JSON schema of SARIF 2.1.0, from the source package of sarif-om on PyPI, which
// is the only small package that has it.
//   S1. The archive is checked by its digest, so that two downloads are the same.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cached, fetchStep, type Missing } from "./local-server.ts";

const VERSION = "1.0.4";
const DIGEST = "cd5f416b3083e00d402a92e449a7ff67af46f11241073eea0461802a3b5aef98";
const FILE = "sarif-2.1.0-rtm.4.json";
const DOWNLOAD = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"];

/** The text of the schema, or why it is not available. */
export function fetchSarifSchema(): { readonly schema: string } | Missing {
  const folder = cached(`sarif-schema-${VERSION}`, (work) => {
    const name = `sarif_om-${VERSION}`;
    const archive = join(work, `${name}.tar.gz`);
    const python = process.env.TIDEGATE_PYTHON ?? "python3";
    fetchStep(python, [...DOWNLOAD, `sarif-om==${VERSION}`], work);
    if (!existsSync(archive)) return { missing: "pip could not download sarif-om" };
    const digest = createHash("sha256").update(readFileSync(archive)).digest("hex");
    if (digest !== DIGEST) return { missing: `sarif-om has the digest ${digest}` }; // S1
    const unpacked = fetchStep("tar", ["xzf", archive], work);
    return unpacked ? join(work, name) : { missing: "tar could not unpack sarif-om" };
  });
  if (typeof folder !== "string") return folder;
  return { schema: readFileSync(join(folder, FILE), "utf8") };
}
