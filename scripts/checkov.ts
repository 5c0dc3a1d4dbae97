// checkov: checks Terraform for known security mistakes, from PyPI.
//   C1. checkov-requirements.txt pins every package, so that two downloads are the same.
//   C2. The folder in the cache is named after the contents of that file: a change is a new folder.
//   C3. It is large (290 MB), so that tests never download it: `node scripts/checkov.ts --fetch`
//       does, and CI runs it.
//   C4. A virtual environment may be moved if it is run by its interpreter; its scripts may not.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cached, cacheFolder, fetchStep, type Missing, works } from "./local-server.ts";

const REQUIREMENTS = join(import.meta.dirname, "checkov-requirements.txt");
const DIGEST_CHARACTERS = 12;
const PYTHONS = ["python3", "/usr/bin/python3"];
const CHECK = "import sys, venv, ensurepip; assert sys.version_info >= (3, 10)";
const INSTALL_MS_MAX = 900_000;

function folderName(): string {
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex");
  return `checkov-${digest.slice(0, DIGEST_CHARACTERS)}`; // C2
}

function fetchCheckov(): string | Missing {
  return cached(folderName(), (work) => {
    const chosen = process.env.TIDEGATE_PYTHON;
    const candidates = chosen === undefined ? PYTHONS : [chosen, ...PYTHONS];
    const python = candidates.find((candidate) => works(candidate, "-c", CHECK));
    if (python === undefined) {
      return { missing: "install Python 3.10 or later with venv (Debian: python3-venv)" };
    }
    const environment = join(work, "venv");
    const interpreter = join(environment, "bin", "python");
    const install = ["-m", "pip", "install", "--quiet", "--no-deps", "-r", REQUIREMENTS];
    const fetched =
      fetchStep(python, ["-m", "venv", environment], work) &&
      fetchStep(interpreter, install, work, INSTALL_MS_MAX); // C1
    return fetched ? environment : { missing: "pip could not download it" };
  });
}

/** The interpreter that runs `-m checkov.main`, or why there is none (C3, C4). */
export function findCheckov(): string | Missing {
  const interpreter = join(cacheFolder(), folderName(), "bin", "python");
  if (existsSync(interpreter)) return interpreter;
  return { missing: "run `node scripts/checkov.ts --fetch`" };
}

if (import.meta.main) {
  const outcome = fetchCheckov();
  if (typeof outcome !== "string") {
    process.stderr.write(`checkov: ${outcome.missing}\n`);
    process.exit(1);
  }
}
