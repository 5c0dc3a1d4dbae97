// tidegate pipeline: a pipeline in an embedded cloud of this process, and the commands in process.

import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { startPipeline } from "../../../src/run/start-pipeline.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const data = join(useTemporaryFolder("control"), "data");
const orders = pipeline({
  name: "orders",
  source: { bucket: "shop", prefix: "orders/" },
  handler() {},
});

async function cli(...words: string[]) {
  const lines: string[] = [];
  const notes: string[] = [];
  const code = await runCli([...words, "--data", data], {
    terminal: false,
    line: (text) => void lines.push(text),
    note: (text) => void notes.push(text),
  });
  return { code, lines, notes };
}

test("a pipeline is paused, shown as paused, kept paused by a restart, and resumed", async () => {
  const logs: string[] = [];
  const options = { onLogLine: (line: string) => void logs.push(line) };
  let dev = await startDev(orders, { data, port: 0, metricsPort: 0 }, options);
  try {
    await dev.put("orders/1.csv", "a");
    await expect.poll(() => dev.snapshot().committed).toBe(1);
    const paused = await cli("pipeline", "pause", "--reason", "table migration");
    expect(paused).toMatchObject({ code: 0 });
    expect(paused.lines[0]).toMatch(/^orders is paused: 1 process will stop receiving within 2 s/);
    await expect.poll(() => dev.snapshot().paused?.reason).toBe("table migration");
    const metrics = await (await fetch(`${dev.metricsOrigin}/metrics`)).text();
    expect(metrics).toMatch(/tidegate_pipeline_paused\{queue="[^"]+"\} 1/);
    expect(logs.join("\n")).toContain("the pipeline is paused");
    const again = await cli("pipeline", "pause", "orders");
    expect(again.lines[0]).toMatch(/^orders was paused already: .*\(table migration\)$/);

    await dev.stop();
    dev = await startDev(orders, { data, port: 0, metricsPort: 0 }, options);
    await dev.put("orders/2.csv", "b");
    const once = { once: true, data: join(data, "x"), ledger: `sqlite:${join(data, "ledger.db")}` };
    const endpoint = { endpoint: dev.endpoint, region: "us-east-1", metricsPort: 0 };
    const second = await startPipeline(
      pipeline({ name: "orders", source: { queue: dev.queueName }, handler() {} }),
      { ...once, ...endpoint },
      options,
    );
    expect(await second.finished).toBe("the pipeline is paused");
    await second.stop();
    expect(dev.snapshot()).toMatchObject({ received: 0, paused: { reason: "table migration" } });
    const status = await cli("pipeline", "status", "--json");
    expect(JSON.parse(status.lines[0] ?? "{}")).toMatchObject({
      pipeline: "orders",
      paused: { reason: "table migration" },
      processes: [{}],
      records: { committed: 1 },
    });

    const resumed = await cli("pipeline", "resume", "orders");
    expect(resumed.lines[0]).toMatch(/^orders is resumed after .*within 2 s$/);
    await expect.poll(() => dev.snapshot().committed).toBe(1);
    expect((await cli("pipeline", "resume")).lines[0]).toContain("nothing was changed");
    expect((await cli("pipeline", "status")).lines[0]).toBe(
      "orders: not paused, 1 process running",
    );
  } finally {
    await dev.stop();
  }
});

test("a name that the ledger does not know is rejected, and nothing is paused", async () => {
  const wrong = await cli("pipeline", "pause", "order");
  expect(wrong.code).toBe(2);
  expect(wrong.notes[0]).toContain('unknown pipeline "order" in generation 0 of the ledger');
  await using operator = openOperator({ pipeline: orders, data });
  expect((await operator.control.status())[0]?.paused).toBeNull();
});
