// FairSchedule: the order of a standard queue. Messages go out in the order in which they became
// ready, but a tenant (MessageGroupId) that uses more than its share comes after the quiet ones.
//   Q1. A message without a group is its own tenant, and so never noisy. Such messages share one
//       list.
//   Q2. A tenant becomes noisy when it has more than a tenth of the messages in flight and at least
//       thirty, or has used more than a tenth of the recent processing time.
//   Q3. It becomes quiet when its backlog is gone, or when it sent nothing for five minutes.
//   Q4. Quiet tenants go first, oldest ready message first; among the noisy, the one with the
//       fewest messages in flight. No message waits for another of its own group: this is fairness,
//       not order.

import { present } from "../../../../core/assert.ts";
import {
  SQS_NOISY_IN_FLIGHT_MIN,
  SQS_NOISY_QUIET_MS,
  SQS_NOISY_SHARE_PERCENT,
} from "../../../../core/limits.ts";
import { type HeapEntry, IndexedHeap } from "../../indexed-heap.ts";
import { type MessageSlab, SlotState } from "./message-slab.ts";
import { RecentWork } from "./recent-work.ts";
import type { Cursor, DeliveryOrder } from "./schedule.ts";
import { SlotList } from "./slot-list.ts";

/** More than one in this many is a noisy share (Q2). */
const NOISY_SHARE = 100 / SQS_NOISY_SHARE_PERCENT;
const SINGLES = 0;

/** Represents a noisy tenant in the heap of silences; the tenant itself is in another heap. */
interface Silence extends HeapEntry {
  readonly tenant: Tenant;
}

interface Tenant extends HeapEntry {
  readonly name: string | null;
  readonly index: number;
  readonly ready: SlotList;
  readonly work: RecentWork;
  total: number;
  inFlight: number;
  /** Null while the tenant is quiet. */
  noise: Silence | null;
  lastSentAt: number;
}

export class FairSchedule implements DeliveryOrder {
  readonly #slab: MessageSlab;
  readonly #byName = new Map<string, Tenant>();
  readonly #byIndex: (Tenant | null)[] = [];
  readonly #freeIndexes: number[] = [];
  readonly #quiet: IndexedHeap<Tenant>;
  readonly #noisy: IndexedHeap<Tenant>;
  /** All noisy tenants, with or without ready messages, longest silence first (Q3). */
  readonly #silences: IndexedHeap<Silence>;
  readonly #work = new RecentWork();
  #inFlight = 0;
  #ticket = 0;

  constructor(slab: MessageSlab) {
    this.#slab = slab;
    const headTicket = (tenant: Tenant) => slab.ticket.get(tenant.ready.head);
    this.#quiet = new IndexedHeap((a, b) => headTicket(a) < headTicket(b));
    this.#noisy = new IndexedHeap((a, b) =>
      a.inFlight === b.inFlight ? headTicket(a) < headTicket(b) : a.inFlight < b.inFlight,
    );
    this.#silences = new IndexedHeap((a, b) => a.tenant.lastSentAt < b.tenant.lastSentAt);
    this.#createTenant(null, SINGLES);
  }

  add(slot: number, group: string | null, now: number): void {
    const tenant = this.#tenantNamed(group);
    tenant.total += 1;
    tenant.lastSentAt = now;
    if (tenant.noise !== null) this.#silences.update(tenant.noise);
    this.#slab.group.set(slot, tenant.index);
    const state = this.#slab.state.get(slot);
    if (state === SlotState.ready) this.#enqueue(tenant, slot);
    else if (state === SlotState.inFlight) this.#depart(tenant);
  }

  release(slot: number, wasInFlight: boolean, now: number): void {
    const tenant = this.#tenantAt(slot);
    if (wasInFlight) this.#return(tenant, slot, now);
    this.#enqueue(tenant, slot);
  }

  hide(slot: number, inFlight: boolean, now: number): void {
    const tenant = this.#tenantAt(slot);
    this.#dequeue(tenant, slot);
    if (!inFlight) return;
    this.#depart(tenant);
    this.#judge(tenant, now);
  }

  remove(slot: number, state: number, now: number): void {
    const tenant = this.#tenantAt(slot);
    if (state === SlotState.ready) this.#dequeue(tenant, slot);
    if (state === SlotState.inFlight) this.#return(tenant, slot, now);
    tenant.total -= 1;
    if (tenant.total > 0 || tenant.name === null) return;
    if (tenant.noise !== null) this.#silences.remove(tenant.noise);
    this.#byName.delete(tenant.name); // Q3: a tenant without a backlog is removed.
    this.#byIndex[tenant.index] = null;
    this.#freeIndexes.push(tenant.index);
  }

  groupOf(slot: number): string | null {
    return this.#tenantAt(slot).name;
  }

  openReceive(now: number): Cursor {
    return {
      next: () => {
        this.#calm(now);
        const tenant = this.#quiet.top ?? this.#noisy.top; // Q4
        return tenant === undefined ? 0 : tenant.ready.head;
      },
      pass: () => false,
    };
  }

  #tenantAt(slot: number): Tenant {
    return present(this.#byIndex[this.#slab.group.get(slot)], "the tenant of a waiting message");
  }

  #tenantNamed(name: string | null): Tenant {
    if (name === null) return present(this.#byIndex[SINGLES], "the tenant of single messages");
    const existing = this.#byName.get(name);
    if (existing !== undefined) return existing;
    const tenant = this.#createTenant(name, this.#freeIndexes.pop() ?? this.#byIndex.length);
    this.#byName.set(name, tenant);
    return tenant;
  }

  #createTenant(name: string | null, index: number): Tenant {
    const tenant: Tenant = {
      name,
      index,
      position: 0,
      ready: new SlotList(this.#slab),
      work: new RecentWork(),
      total: 0,
      inFlight: 0,
      noise: null,
      lastSentAt: 0,
    };
    this.#byIndex[index] = tenant;
    return tenant;
  }

  #heapOf(tenant: Tenant): IndexedHeap<Tenant> {
    return tenant.noise === null ? this.#quiet : this.#noisy;
  }

  #enqueue(tenant: Tenant, slot: number): void {
    this.#ticket += 1;
    this.#slab.ticket.set(slot, this.#ticket);
    tenant.ready.pushBack(slot);
    if (tenant.ready.length === 1) this.#heapOf(tenant).push(tenant);
  }

  #dequeue(tenant: Tenant, slot: number): void {
    const wasHead = tenant.ready.head === slot;
    // The heap compares heads, so a tenant leaves the heap before its last message leaves the list.
    if (tenant.ready.length === 1) this.#heapOf(tenant).remove(tenant);
    tenant.ready.remove(slot);
    if (wasHead && tenant.ready.length > 0) this.#heapOf(tenant).update(tenant);
  }

  #depart(tenant: Tenant): void {
    this.#inFlight += 1;
    tenant.inFlight += 1;
    if (tenant.noise !== null && tenant.position !== 0) this.#noisy.update(tenant);
  }

  #return(tenant: Tenant, slot: number, now: number): void {
    this.#inFlight -= 1;
    tenant.inFlight -= 1;
    if (tenant.noise !== null && tenant.position !== 0) this.#noisy.update(tenant);
    // An idle queue is brought up to date late: the work ended at its deadline.
    const endedAt = Math.min(now, this.#slab.dueAt.get(slot));
    const workedMs = Math.max(0, endedAt - this.#slab.receivedAt.get(slot));
    this.#work.add(now, workedMs);
    if (tenant.name === null) return; // Q1
    tenant.work.add(now, workedMs);
    this.#judge(tenant, now);
  }

  #judge(tenant: Tenant, now: number): void {
    if (tenant.noise !== null || tenant.name === null) return; // Q1
    if (now - tenant.lastSentAt >= SQS_NOISY_QUIET_MS) return; // Q3
    const holds = tenant.inFlight;
    const crowds = holds >= SQS_NOISY_IN_FLIGHT_MIN && holds * NOISY_SHARE > this.#inFlight;
    const hogs = tenant.work.recent(now) * NOISY_SHARE > this.#work.recent(now);
    if (!crowds && !hogs) return;
    const noise = { position: 0, tenant };
    this.#mark(tenant, noise); // Q2
    this.#silences.push(noise);
  }

  /** Makes tenants quiet whose time has come (Q3). */
  #calm(now: number): void {
    for (let noise = this.#silences.top; noise !== undefined; noise = this.#silences.top) {
      if (now - noise.tenant.lastSentAt < SQS_NOISY_QUIET_MS) return;
      this.#silences.remove(noise);
      this.#mark(noise.tenant, null);
    }
  }

  #mark(tenant: Tenant, noise: Silence | null): void {
    const waits = tenant.position !== 0;
    if (waits) this.#heapOf(tenant).remove(tenant);
    tenant.noise = noise;
    if (waits) this.#heapOf(tenant).push(tenant);
  }
}
