// FifoSchedule: messages of a group go out in order, and only while no earlier one is in flight or
// delayed.
//   F1. A group's list contains all its messages, ready or not, in the order of their numbers.
//   F2. A group may deliver from its head up to the first message that is in flight or delayed.
//       Only deleting, releasing or dead-lettering that message moves this border.
//   F3. Groups that may deliver wait in line; a group that was served goes to the back when it may
//       deliver again.
//   F4. One receive takes as many as it can from a group before it turns to the next.

import { present } from "../../../../core/assert.ts";
import { type MessageSlab, SlotState } from "./message-slab.ts";
import type { Cursor, DeliveryOrder } from "./schedule.ts";
import { SlotList } from "./slot-list.ts";

interface Group {
  readonly name: string;
  readonly index: number;
  readonly messages: SlotList;
  inLine: boolean;
  before: Group | null;
  after: Group | null;
}

export class FifoSchedule implements DeliveryOrder {
  readonly #slab: MessageSlab;
  readonly #byName = new Map<string, Group>();
  readonly #byIndex: (Group | null)[] = [];
  readonly #freeIndexes: number[] = [];
  #lineHead: Group | null = null;
  #lineTail: Group | null = null;

  constructor(slab: MessageSlab) {
    this.#slab = slab;
  }

  add(slot: number, name: string | null): void {
    const group = this.#groupNamed(present(name, "the group of a FIFO message"));
    this.#slab.group.set(slot, group.index);
    group.messages.pushBack(slot); // F1
    this.#refresh(group);
  }

  release(slot: number): void {
    this.#refresh(this.#groupAt(slot));
  }

  hide(slot: number): void {
    this.#refresh(this.#groupAt(slot));
  }

  remove(slot: number): void {
    const group = this.#groupAt(slot);
    group.messages.remove(slot);
    this.#refresh(group);
    if (group.messages.length > 0) return;
    this.#byName.delete(group.name);
    this.#byIndex[group.index] = null;
    this.#freeIndexes.push(group.index);
  }

  groupOf(slot: number): string {
    return this.#groupAt(slot).name;
  }

  openReceive(): Cursor {
    let upcoming = 0; // F4: the message after the one returned last.
    let last = 0;
    let firstPassed: Group | null = null;
    return {
      next: () => {
        const slab = this.#slab;
        let slot = upcoming;
        if (slot === 0 || slab.state.get(slot) !== SlotState.ready) {
          slot = this.#lineHead === null ? 0 : this.#lineHead.messages.head;
        }
        upcoming = slot === 0 ? 0 : slab.next.get(slot);
        last = slot;
        return slot;
      },
      pass: () => {
        const group = this.#groupAt(last);
        if (group === firstPassed) return false;
        firstPassed ??= group;
        upcoming = 0;
        this.#leaveLine(group);
        this.#joinLine(group); // F3
        return true;
      },
    };
  }

  #groupAt(slot: number): Group {
    return present(this.#byIndex[this.#slab.group.get(slot)], "the group of a waiting message");
  }

  #groupNamed(name: string): Group {
    const existing = this.#byName.get(name);
    if (existing !== undefined) return existing;
    const index = this.#freeIndexes.pop() ?? this.#byIndex.length;
    const messages = new SlotList(this.#slab);
    const group: Group = { name, index, messages, inLine: false, before: null, after: null };
    this.#byIndex[index] = group;
    this.#byName.set(name, group);
    return group;
  }

  /** Puts the group in line or removes it, depending on its head (F2). */
  #refresh(group: Group): void {
    const head = group.messages.head;
    const may = head !== 0 && this.#slab.state.get(head) === SlotState.ready;
    if (may === group.inLine) return;
    if (may) this.#joinLine(group);
    else this.#leaveLine(group);
  }

  #joinLine(group: Group): void {
    group.inLine = true;
    group.before = this.#lineTail; // F3
    if (this.#lineTail === null) this.#lineHead = group;
    else this.#lineTail.after = group;
    this.#lineTail = group;
  }

  #leaveLine(group: Group): void {
    group.inLine = false;
    if (group.before === null) this.#lineHead = group.after;
    else group.before.after = group.after;
    if (group.after === null) this.#lineTail = group.before;
    else group.after.before = group.before;
    group.before = null;
    group.after = null;
  }
}
