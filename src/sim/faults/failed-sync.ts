// Failed sync: the broker's disk fails to sync a commit, and some time later the power fails.
//   A broker that acknowledges anything behind the failed sync, without renewing its file first,
//   loses it with the power cut (sim-disk.ts). The renewal may fail as well, or lose power.

import { RENEWAL_STEPS } from "../ports/renew-file.ts";
import type { WorldServices } from "../services.ts";
import { hashText, type NamedDice } from "./named-random.ts";

const POWER_MS_MIN = 200;
const POWER_MS_MAX = 600_000;

/** The power cut is a fault of its own, so that a failing run can be shrunk to one of the two. */
export function failSync(id: string, dice: NamedDice, services: WorldServices): void {
  const { scheduler, storeFaults, ports } = services;
  storeFaults.next = "fail-sync";
  storeFaults.keepsName = dice.roll(`${id} keeps name`, 0.5);
  const renewalId = `${id} renewal`;
  const { faults } = ports;
  const failsToo = dice.roll(renewalId, 0.5);
  if (failsToo && faults.fires(renewalId, "the broker's file cannot be renewed at first")) {
    storeFaults.renewal = {
      before: dice.pick(`${renewalId} step`, RENEWAL_STEPS),
      how: dice.roll(`${renewalId} how`, 0.75) ? "power-cut" : "fail",
      keepsName: storeFaults.keepsName,
    };
  }
  const ms = dice.scaled(`${id} power ms`, POWER_MS_MIN, POWER_MS_MAX);
  const cutId = `${id} power-cut`;
  scheduler.after(ms, hashText(cutId), () => {
    if (faults.fires(cutId, "the broker loses power")) storeFaults.next ??= "power-cut";
  });
}
