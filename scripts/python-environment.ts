// Python environment: packages from PyPI in a virtual environment, downloaded once into the user's
// cache folder.
//   P1. A requirements file pins every package with its dependencies, so that two downloads are the
//       same.
//   P2. The folder in the cache is named after the contents of that file: a change is a new folder.
//   P3. A virtual environment may be moved if it is run by its interpreter; its scripts may not.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cached, fetchStep, type Missing, works } from "./local-server.ts";

const DIGEST_CHARACTERS = 12;
const PYTHONS = ["python3", "/usr/bin/python3"];
/** The oldest Python that the packages run on, with what creates a virtual environment. */
const CHECK = "import sys, venv, ensurepip; assert sys.version_info >= (3, 10)";
const INSTALL = ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"];

/** The interpreter of an environment with the packages of a file, or why there is none. */
export function fetchPythonEnvironment(name: string, requirements: string): string | Missing {
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  const environment = cached(`${name}-${digest.slice(0, DIGEST_CHARACTERS)}`, (work) => {
    const chosen = process.env.TIDEGATE_PYTHON;
    const candidates = chosen === undefined ? PYTHONS : [chosen, ...PYTHONS];
    const python = candidates.find((candidate) => works(candidate, "-c", CHECK));
    if (python === undefined) {
      return { missing: "install Python 3.10 or later with venv (Debian: python3-venv)" };
    }
    const folder = join(work, "venv");
    const fetched =
      fetchStep(python, ["-m", "venv", folder], work) &&
      fetchStep(interpreterOf(folder), [...INSTALL, "-r", requirements], work); // P1
    return fetched ? folder : { missing: "pip could not download it" };
  });
  return typeof environment === "string" ? interpreterOf(environment) : environment; // P3
}

function interpreterOf(environment: string): string {
  return join(environment, "bin", "python");
}
