// Sim disk: what the broker's store shows, and what a power cut leaves of it.
//   K1. A commit is visible once it is written, and durable once it is synced.
//   K2. After a failed sync the operating system shows the commit, but never writes it: its pages
//       count as clean. The file is in doubt from then on. Later syncs of it succeed and make
//       nothing durable, so a power cut loses the commit and everything written behind it.
//   K3. Only what is copied into a new file leaves the doubt behind. The copy is durable once it is
//       synced. It then takes the name, and the name is durable once the folder is synced. Until
//       then a power cut keeps either name.
//   K4. After a power cut nothing is in doubt: what is visible is what is on the disk.

import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";

export interface WrittenCommit {
  readonly changes: readonly Change[];
  readonly at: number;
  state: "written" | "synced" | "lost";
}

export interface SimFile {
  readonly commits: WrittenCommit[];
  /** How many commits, from the first one on, a power cut leaves. */
  durable: number;
  isInDoubt: boolean;
}

export class SimDisk {
  readonly #create: () => BrokerStore;
  #visible: BrokerStore;
  #named: SimFile = { commits: [], durable: 0, isInDoubt: false };
  /** The file that has the name on the disk; another one until the folder is synced. */
  #durableName = this.#named;

  constructor(create: () => BrokerStore) {
    this.#create = create;
    this.#visible = create();
  }

  /** The store as the page cache shows it. */
  get visible(): BrokerStore {
    return this.#visible;
  }

  /** Commits that no one has been answered, although they are visible. */
  get unanswered(): readonly WrittenCommit[] {
    return this.#named.commits.filter(({ state }) => state !== "synced");
  }

  /** The file that has the name. */
  get file(): SimFile {
    return this.#named;
  }

  /** Rejects a commit that the store does not accept; it is then not on disk. */
  async write(changes: readonly Change[], at: number): Promise<WrittenCommit> {
    await this.#visible.commit(changes);
    const commit: WrittenCommit = { changes, at, state: "written" };
    this.#named.commits.push(commit);
    return commit;
  }

  /** Syncs everything up to a commit. Reports success, whatever the file is worth (K2). */
  sync(file: SimFile, through = file.commits.at(-1)): void {
    if (file.isInDoubt || through === undefined) return;
    file.durable = Math.max(file.durable, file.commits.lastIndexOf(through) + 1);
  }

  failSync(file: SimFile): void {
    file.isInDoubt = true;
  }

  /** A new file with all that is visible (K3). */
  copy(): SimFile {
    return { commits: [...this.#named.commits], durable: 0, isInDoubt: false };
  }

  rename(file: SimFile): void {
    this.#named = file;
  }

  syncFolder(): void {
    this.#durableName = this.#named;
  }

  /** Loses everything behind the last durable commit, of the file whose name survives (K3). */
  cutPower({ keepsName }: { readonly keepsName: boolean }): void {
    const before = this.#named;
    const { commits, durable } = keepsName ? before : this.#durableName;
    const remaining = commits.slice(0, durable);
    // Each file begins with what the one before it had.
    for (const commit of before.commits.slice(remaining.length)) commit.state = "lost";
    if (remaining.length < before.commits.length) {
      this.#visible = this.#create();
      // The memory store applies changes before it first waits.
      for (const { changes } of remaining) void this.#visible.commit(changes);
    }
    this.#named = { commits: remaining, durable: remaining.length, isInDoubt: false }; // K4
    this.syncFolder();
  }
}
