// Sim disk: what the broker's store shows, and what a power cut leaves of it.
//   K1. A commit is visible once it is written, and durable once it is synced.
//   K2. After a failed sync the operating system shows the commit, but never writes it: its pages
//       count as clean. Later syncs succeed, and yet a power cut loses the commit and everything
//       that was written behind it.
//   K3. `renew` writes everything that is visible into a new place and syncs it. A store does that
//       before it acknowledges anything behind a failed sync (renew-log.ts).

import type { Change } from "../../core/broker-change.ts";
import type { BrokerStore } from "../../ports/broker-store.ts";

export interface WrittenCommit {
  readonly changes: readonly Change[];
  readonly at: number;
  state: "written" | "synced" | "lost";
}

export class SimDisk {
  readonly #create: () => BrokerStore;
  #commits: WrittenCommit[] = [];
  #visible: BrokerStore;

  constructor(create: () => BrokerStore) {
    this.#create = create;
    this.#visible = create();
  }

  /** The store as the page cache shows it. */
  get visible(): BrokerStore {
    return this.#visible;
  }

  /** Rejects a commit that the store does not accept; it is then not on disk. */
  async write(changes: readonly Change[], at: number): Promise<WrittenCommit> {
    await this.#visible.commit(changes);
    const commit: WrittenCommit = { changes, at, state: "written" };
    this.#commits.push(commit);
    return commit;
  }

  /** Makes all visible commits durable (K3); returns those that were not. */
  renew(): readonly WrittenCommit[] {
    const renewed = this.#commits.filter(({ state }) => state !== "synced");
    for (const commit of renewed) commit.state = "synced";
    return renewed;
  }

  /** Loses everything from the first commit on that was never synced (K2). */
  cutPower(): void {
    const hole = this.#commits.findIndex(({ state }) => state !== "synced");
    if (hole < 0) return;
    for (const commit of this.#commits.splice(hole)) commit.state = "lost";
    this.#visible = this.#create();
    // The memory store applies changes before it first waits.
    for (const { changes } of this.#commits) void this.#visible.commit(changes);
  }
}
