import { expect, test } from "vitest";
import { startMetricsListener } from "../../../src/run/metrics-listener.ts";

function source(ok = { value: true }) {
  return {
    metrics: () => ({ text: "up 1\n", type: "text/plain; version=0.0.4" }),
    health: () => ({ ok: ok.value, facts: { pipeline: "p" } }),
    onError: () => {},
  };
}

test("metrics and health are served on loopback, and health is 503 during a drain", async () => {
  const ok = { value: true };
  const { origin, close } = await startMetricsListener(source(ok), { port: 0 });
  try {
    const metrics = await fetch(`${origin}/metrics`);
    expect(metrics.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(await metrics.text()).toBe("up 1\n");
    const health = await fetch(`${origin}/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: "ok", pipeline: "p" }]);
    ok.value = false;
    expect((await fetch(`${origin}/health`)).status).toBe(503);
    expect((await fetch(`${origin}/other`)).status).toBe(404);
    expect((await fetch(`${origin}/metrics`, { method: "POST" })).status).toBe(405);
  } finally {
    await close();
  }
});

test("a port in use is reported with the flag that changes it", async () => {
  const first = await startMetricsListener(source(), { port: 0 });
  try {
    const { port } = new URL(first.origin);
    await expect(startMetricsListener(source(), { port: Number(port) })).rejects.toMatchObject({
      code: "TG_PORT_IN_USE",
      message: expect.stringContaining("another port for metrics"),
    });
  } finally {
    await first.close();
  }
});

test("metrics can be served on another address, and a wrong one is reported with its flag", async () => {
  const { origin, close } = await startMetricsListener(source(), { port: 0, host: "::1" });
  try {
    expect(origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${origin}/metrics`)).status).toBe(200);
  } finally {
    await close();
  }
  const wrong = startMetricsListener(source(), { port: 0, host: "192.0.2.1" });
  await expect(wrong).rejects.toMatchObject({
    code: "TG_CONFIG_INVALID",
    message: expect.stringContaining("another host"),
  });
});
