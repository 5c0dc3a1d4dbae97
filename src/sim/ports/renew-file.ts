// Renew file: how the broker's store in a world renews a file after a failure. It takes the steps
// of stores/sqlite/renew-log.ts, and each of them may fail.

import type { SimDisk } from "./sim-disk.ts";

export const RENEWAL_STEPS = ["copy", "sync", "rename", "sync-folder"] as const;

/** How the next renewal of a file in doubt ends, before one of its steps. */
export interface RenewalFault {
  readonly before: (typeof RENEWAL_STEPS)[number];
  /** A call that fails, as without space; or a power cut, which may keep either name. */
  readonly how: "fail" | "power-cut";
  readonly keepsName: boolean;
}

/** Whether the file is renewed; it stays as it is, and in doubt, if a step fails. */
export function renewSimFile(disk: SimDisk, fault: RenewalFault | null): boolean {
  const fails = (step: RenewalFault["before"]): boolean => {
    if (fault?.before !== step) return false;
    if (fault.how === "power-cut") disk.cutPower(fault);
    return true;
  };
  if (fails("copy")) return false;
  const draft = disk.copy();
  if (fails("sync")) return false;
  disk.sync(draft);
  if (fails("rename")) return false;
  disk.rename(draft);
  if (fails("sync-folder")) return false;
  disk.syncFolder();
  return true;
}
