// Audit truth: what the history says about objects at the time of an audit, for the checkers of
// audits.
//   T1. A change is lost if its message was purged or has expired, and no record of it exists.
//       Until its message is sent, only the bucket knows of it.

import type { HistoryEvent } from "../../history.ts";

export class AuditTruth {
  readonly #sentAt = new Map<string, number>();
  readonly #lost = new Set<string>();
  readonly #recorded = new Set<string>();
  readonly #applied = new Map<string, Set<string>>();
  /** The change that each listed object is the result of. */
  readonly #changes = new Map<string, string>();
  readonly #last = new Map<string, { name: string; change: "put" | "removed"; at: number }>();

  observe(event: HistoryEvent): void {
    switch (event.kind) {
      case "object": {
        const { name, change, at } = event;
        this.#last.set(event.object, { name, change, at });
        break;
      }
      case "sent":
        if (!this.#sentAt.has(event.name)) this.#sentAt.set(event.name, event.at);
        break;
      case "purged":
      case "expired":
        for (const name of event.names) this.#lost.add(name);
        break;
      case "claimed":
      case "failed":
      case "parked":
      case "held":
        this.#recorded.add(this.#changeOf(event.name));
        break;
      case "listed":
        if (event.of !== null) this.#changes.set(event.name, event.of);
        break;
      case "committed": {
        const change = this.#changeOf(event.name);
        this.#recorded.add(change);
        if (event.superseded) break;
        const by = this.#applied.get(change) ?? new Set();
        this.#applied.set(change, by.add(event.name));
        break;
      }
      default:
    }
  }

  #changeOf(name: string): string {
    return this.#changes.get(name) ?? name;
  }

  /** Whether its message was sent before that time, and never purged. */
  arrived(name: string, before: number): boolean {
    const sentAt = this.#sentAt.get(name);
    return sentAt !== undefined && sentAt < before && !this.#lost.has(name);
  }

  /** T1 */
  isLost(name: string): boolean {
    return this.#lost.has(name) && !this.#recorded.has(name);
  }

  /** How many records applied the change. */
  appliedBy(name: string): number {
    return this.#applied.get(name)?.size ?? 0;
  }

  lastOf(object: string): { name: string; change: "put" | "removed"; at: number } | undefined {
    return this.#last.get(object);
  }
}
