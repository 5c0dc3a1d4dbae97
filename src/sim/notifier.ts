// Notifier: S3 in a simulated world. It changes objects and tells the queue of every change, at
// least once: what the queue does not take it tells again, as S3 does.

import { durationMs } from "../core/units.ts";
import { SimProcess } from "./process.ts";
import type { Stage } from "./stage.ts";
import type { Item } from "./workload.ts";

const NAME = "s3";
const TELL_AGAIN_MS = durationMs(1_000);

export class Notifier {
  readonly #stage: Stage;
  readonly #process: SimProcess;
  #untold = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#process = new SimProcess(NAME, stage.scheduler, () => {});
  }

  get untold(): number {
    return this.#untold;
  }

  hand({ name, group: object, change }: Item): void {
    const { bucket, scheduler, history, ports } = this.#stage;
    const tidings = bucket.change(name, object, change, scheduler.now);
    const { sequencer, identity, body } = tidings;
    ports.names.teach(identity, name);
    const value = change === "put" ? `${object}@${name}` : `${object} removed`;
    history.add(NAME, { kind: "object", name, object, sequencer, change, value });
    this.#untold += 1;
    void this.#tell(name, body);
  }

  async #tell(name: string, body: string): Promise<void> {
    const { queue, history } = this.#stage;
    for (;;) {
      const message = { body, attributes: {}, groupId: null, dedupId: null };
      const [outcome] = await queue.sendBatch([message]).catch(() => []);
      if (outcome?.kind === "sent") {
        const { messageId } = outcome;
        history.add(NAME, { kind: "sent", name, messageId, dedupId: null, group: null });
        this.#untold -= 1;
        return;
      }
      await this.#process.clock.sleep(TELL_AGAIN_MS);
    }
  }
}
