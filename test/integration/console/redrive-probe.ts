// Redrive probe: starts a job of the console and follows it to its end.

import { expect } from "vitest";
import type { consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";

export function createRedriveProbe(api: ReturnType<typeof consoleClient>) {
  return {
    /** The job when it no longer runs. */
    async run(path: string, order: object): Promise<Record<string, unknown>> {
      const { status, body } = await api.post(path, order);
      expect(status).toBe(202);
      return eventually(async () => {
        const { body: job } = await api.call(`/jobs/${body.id}`);
        expect(job.state).not.toBe("running");
        return job;
      });
    },
  };
}
