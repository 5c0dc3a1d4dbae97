// Job lines: the jobs of a batch in a file of JSON Lines.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import type { JobInput } from "../../operate/jobs.ts";

/** Reads one job per line; blank lines are ignored. */
export async function* readJobLines(file: string): AsyncGenerator<JobInput, void, undefined> {
  const input = createReadStream(file, "utf8");
  let line = 0;
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      if (text.trim() !== "") yield jobOf(text, `${file}:${line}`);
    }
  } catch (error) {
    if (error instanceof TidegateError) throw error;
    const message = `${file} cannot be read: ${reasonOf(error)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

function jobOf(text: string, location: string): JobInput {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refused(location, `is not JSON: ${reasonOf(error)}`);
  }
  const job = value as { key?: string; body?: JsonValue } | null;
  if (job === null || typeof job !== "object" || job.key === undefined || job.body === undefined) {
    throw refused(location, 'is not a job; write {"key":"…","body":…}');
  }
  return { key: job.key, body: job.body };
}

function refused(location: string, problem: string): TidegateError {
  return new TidegateError("TG_CONFIG_INVALID", `${location} ${problem}`);
}
