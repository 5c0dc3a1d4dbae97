// tidegate late and tidegate watermark: a pipeline in an embedded cloud of this process, and the
// commands as processes of their own.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("late");
const data = join(folder, "data");
const file = join(folder, "pipeline.ts");

const SOURCE = `import { pipeline } from "tidegate";
export default pipeline({
  name: "days",
  source: { bucket: "days", prefix: "in/" },
  eventTime: {
    of: ({ object }) => object.key.split("/")[1] + "T00:00:00Z",
    outOfOrderMs: 86_400_000,
    late: "hold",
  },
  handler() {},
});
`;

async function cli(...words: string[]) {
  const { code, out, err } = await endOf(startCommand([...words, "--data", data]));
  return { code, err, lines: out.split("\n").filter((line) => line !== "") };
}

test("late files are listed and released, and watermark says what holds it back", async () => {
  writeFileSync(file, SOURCE);
  const pipeline = await loadPipeline(file);
  const dev = await startDev(pipeline, { data, port: 0 }, { onLogLine: () => {} });
  try {
    await dev.put("in/2026-03-09/a.csv", "a");
    await dev.put("in/2026-03-10/a.csv", "a");
    const reached = Date.UTC(2026, 2, 9);
    await expect.poll(() => dev.snapshot().watermark).toBe(reached);
    await dev.put("in/2026-02-01/b.csv", "b");
    await expect.poll(() => dev.snapshot().held).toBe(1);

    const listed = await cli("late", "list", "--json");
    expect(JSON.parse(listed.lines[0] ?? "{}")).toMatchObject({
      state: "held",
      about: "s3://days/in/2026-02-01/b.csv",
      lane: "too-late",
      watermark: reached,
    });
    expect(listed.lines[0]).not.toContain("Records");
    const held = await cli("watermark", file, "--json");
    expect(held).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(held.lines[0] ?? "{}")).toMatchObject({
      completeUpTo: "2026-02-01T00:00:00.000Z",
      exact: true,
      heldBy: { kind: "held", what: "s3://days/in/2026-02-01/b.csv" },
    });
    const early = await cli(
      ...["watermark", file, "--wait-until", "2026-03-09T00:00:00Z", "--timeout", "1"],
    );
    expect(early.code).toBe(1);

    const waiting = cli("watermark", file, "--wait-until", "2026-03-09T00:00:00Z");
    const planned = await cli("late", "release", "--prefix", "s3://days/in/2026-02", "--dry-run");
    expect(planned).toEqual({
      code: 0,
      err: expect.any(String),
      lines: ["would release s3://days/in/2026-02-01/b.csv", "1 record would be released"],
    });
    const released = await cli("late", "release", "--all");
    expect(released.lines.at(-1)).toBe("1 record released");
    expect(await waiting).toMatchObject({ code: 0 });
    expect((await dev.completeUpTo()).at).toBe(reached);
    await using operator = openOperator({
      pipeline,
      ledger: `sqlite:${join(data, "ledger.db")}`,
      queue: dev.queueName,
      endpoint: dev.endpoint,
    });
    const waited = operator.completeness.waitUntil(reached);
    expect(await waited.result()).toBe(true);
    expect(await operator.completeness.read()).toMatchObject([{ isExact: true }]);
    expect((await cli("late", "list")).err).toContain("No held records match.");
  } finally {
    await dev.stop();
  }
});

test("wrong words are rejected with what to write", async () => {
  expect(await cli("late", "release")).toMatchObject({
    code: 2,
    err: expect.stringContaining("late release needs --key, --prefix or --all"),
  });
  expect(await cli("watermark", file, "--wait-until", "2026-03-09")).toMatchObject({
    code: 2,
    err: expect.stringContaining("must be a time with a zone"),
  });
});
