// Failed sync: the broker's disk fails to sync a commit, and some time later the power fails.
//   A broker that acknowledges anything behind the failed sync, without renewing its log first,
//   loses it with the power cut (sim-disk.ts).

import type { WorldServices } from "../services.ts";
import { hashText, type NamedDice } from "./named-random.ts";

const POWER_MS_MIN = 200;
const POWER_MS_MAX = 600_000;

/** The power cut is a fault of its own, so that a failing run can be shrunk to one of the two. */
export function failSync(id: string, dice: NamedDice, services: WorldServices): void {
  const { scheduler, storeFaults, ports } = services;
  storeFaults.next = "fail-sync";
  const ms = dice.scaled(`${id} power ms`, POWER_MS_MIN, POWER_MS_MAX);
  const cutId = `${id} power-cut`;
  scheduler.after(ms, hashText(cutId), () => {
    if (ports.faults.fires(cutId, "the broker loses power")) storeFaults.next ??= "power-cut";
  });
}
