// tidegate retry: a record that waits for its backoff, on an embedded cloud of this process.

import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { PermanentError, pipeline } from "../../../src/index.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const data = join(useTemporaryFolder("retry"), "data");
/** A backoff is anything from zero to this: one that ends during the test is unlikely. */
const WAITS_MS = 36_000_000;

async function retry(what: string, ...more: string[]) {
  const lines: string[] = [];
  const add = (text: string) => void lines.push(text);
  const code = await runCli(["retry", what, "--data", data, ...more], {
    terminal: false,
    line: add,
    note: add,
  });
  return { code, text: lines.join("\n") };
}

test("a waiting record is tried now, and every other is left alone with what to do", async () => {
  let works = false;
  let begun = false;
  let release = () => {};
  const jobs = pipeline({
    name: "jobs",
    source: { bucket: "jobs" },
    lease: "ledger",
    retry: { attempts: 5, baseMs: WAITS_MS, capMs: WAITS_MS },
    async handler({ object }) {
      if (object.key === "slow") {
        begun = true;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }
      if (object.key === "poison") throw new PermanentError("bad");
      if (object.key === "fails" && !works) throw new Error("not yet");
    },
  });
  const dev = await startDev(jobs, { data, port: 0, metricsPort: 0 }, { onLogLine: () => {} });
  try {
    for (const key of ["fails", "poison", "good"]) await dev.put(key, key);
    const ended = { retried: 1, deadLettered: 1, committed: 1 };
    await expect.poll(() => dev.snapshot()).toMatchObject(ended);
    const elsewhere = ["--data", `${data}-other`, "--ledger", `sqlite:${join(data, "ledger.db")}`];
    const onAws = await retry("s3://jobs/fails", ...elsewhere);
    expect(onAws).toMatchObject({ code: 0, text: expect.stringContaining("the wait ends when") });
    works = true;
    const retried = await retry("s3://jobs/fails");
    expect(retried).toMatchObject({ code: 0, text: expect.stringContaining("tries it now") });
    await expect.poll(() => dev.snapshot().committed).toBe(2);
    expect(await retry("s3://jobs/fails")).toEqual({
      code: 1,
      text: "s3://jobs/fails: committed; nothing to do",
    });
    expect((await retry("s3://jobs/poison")).text).toContain(
      "dead-lettered; use: tidegate dlq redrive --key s3://jobs/poison",
    );
    expect(await retry("s3://jobs/never")).toMatchObject({ code: 1 });
    await dev.put("slow", "slow");
    await expect.poll(() => begun).toBe(true);
    const busy = await retry("s3://jobs/slow", "--json");
    expect(busy.code).toBe(1);
    expect(JSON.parse(busy.text)).toEqual({ name: "s3://jobs/slow", outcome: "in-progress" });
    release();
    await dev.idle();
  } finally {
    release();
    await dev.stop();
  }
});
