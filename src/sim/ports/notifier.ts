// Notifier: S3 in a simulated world. It changes objects and tells the queue of every change, at
// least once: what the queue does not take it tells again, as S3 does. One message may tell of
// several changes, which then share one delivery and are decided each for itself.

import { durationMs } from "../../core/units.ts";
import { hashText } from "../faults/named-random.ts";
import { SimProcess } from "../hosts/process.ts";
import type { WorldServices } from "../services.ts";
import type { WorkloadItem } from "../workload.ts";

const NAME = "s3";
const TELL_AGAIN_MS = durationMs(1_000);
/** How long a change waits for others to be told of with it. */
const GATHER_MS = 500;

interface Change {
  readonly name: string;
  readonly record: object;
}

export class Notifier {
  readonly #stage: WorldServices;
  readonly #process: SimProcess;
  readonly #recordsMax: number;
  #gathered: Change[] = [];
  #untold = 0;

  constructor(stage: WorldServices, options: { readonly recordsMax: number }) {
    this.#stage = stage;
    this.#recordsMax = options.recordsMax;
    this.#process = new SimProcess(NAME, stage.scheduler, () => {});
  }

  /** Changes that the queue has not taken yet. */
  get untold(): number {
    return this.#untold;
  }

  hand({ name, group: object, change }: WorkloadItem): void {
    const { bucket, scheduler, history, ports } = this.#stage;
    const { sequencer, identity, record } = bucket.change(name, object, change, scheduler.now);
    ports.names.teach(identity, name);
    const value = change === "put" ? `${object}@${name}` : `${object} removed`;
    history.add(NAME, { kind: "object", name, object, sequencer, change, value });
    this.#untold += 1;
    this.#gathered.push({ name, record });
    if (this.#gathered.length >= this.#recordsMax) this.#flush();
    else if (this.#gathered.length === 1) {
      scheduler.after(GATHER_MS, hashText(NAME), () => this.#flush());
    }
  }

  #flush(): void {
    const changes = this.#gathered;
    this.#gathered = [];
    if (changes.length > 0) void this.#tell(changes);
  }

  async #tell(changes: readonly Change[]): Promise<void> {
    const { queue, history } = this.#stage;
    const body = JSON.stringify({ Records: changes.map(({ record }) => record) });
    for (;;) {
      const message = { body, attributes: {}, groupId: null, dedupId: null };
      const [outcome] = await queue.sendBatch([message]).catch(() => []);
      if (outcome?.kind === "sent") {
        const { messageId } = outcome;
        for (const { name } of changes) {
          history.add(NAME, { kind: "sent", name, messageId, dedupId: null, group: null });
        }
        this.#untold -= changes.length;
        return;
      }
      await this.#process.clock.sleep(TELL_AGAIN_MS);
    }
  }
}
