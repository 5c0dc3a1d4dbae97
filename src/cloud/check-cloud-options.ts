// Check cloud options: rejects options of `startCloud` that cannot work, before anything is opened.

import type { FaultSpec } from "../broker/model/fault-plan.ts";
import { refuseConfig } from "../core/errors.ts";
import { readAccessKeys } from "./access-keys.ts";
import type { CloudOptions } from "./cloud-options.ts";
import { isHostName } from "./host-names.ts";
import { isLoopback } from "./loopback.ts";

const EXPOSED = "would let everyone who reaches it change everything; give it keys (auth), or";
const PORT_MAX = 65_535;

/** Throws on options that cannot work. */
export function checkCloudOptions(options: CloudOptions): void {
  const { memory, data, port = 0, clock = "system", account, region } = options;
  if (memory === true && data !== undefined) {
    refuseConfig("memory and data exclude each other; choose one of them");
  }
  if (memory === false && data === undefined)
    refuseConfig("memory: false needs a data folder; set data");
  if (data === "") refuseConfig("data is empty; set the path of a folder");
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    refuseConfig(`invalid port ${port}; expected an integer from 0 to ${PORT_MAX}`);
  }
  if (clock !== "system" && clock !== "virtual") {
    refuseConfig(`unknown clock ${JSON.stringify(clock)}; expected "system" or "virtual"`);
  }
  if (account !== undefined && !/^\d{12}$/.test(account)) {
    refuseConfig(`invalid account "${account}"; expected 12 digits`);
  }
  const { host = "127.0.0.1", auth, insecure = false } = options;
  if (auth !== undefined) readAccessKeys(auth);
  if (auth === undefined && !insecure && !isLoopback(host)) {
    refuseConfig(`listening on ${host} ${EXPOSED} allow it (insecure)`);
  }
  const { s3EventVersion, eventBridgeQueue, baseHost } = options;
  if (baseHost !== undefined && !isHostName(baseHost)) {
    refuseConfig(`invalid baseHost "${baseHost}"; expected a name without scheme and port`);
  }
  if (s3EventVersion !== undefined && !/^\d+\.\d+$/.test(s3EventVersion)) {
    refuseConfig(`invalid s3EventVersion "${s3EventVersion}"; expected two numbers such as "2.6"`);
  }
  if (eventBridgeQueue?.endsWith(".fifo")) {
    refuseConfig(
      `the EventBridge queue "${eventBridgeQueue}" cannot be FIFO; name a standard queue`,
    );
  }
  if (region !== undefined && !/^[a-z\d-]{1,32}$/.test(region)) {
    refuseConfig(`invalid region "${region}"; expected lower-case letters, digits and hyphens`);
  }
}

/** The initial faults, validated. */
export async function readFaults({ faults = [] }: CloudOptions): Promise<readonly FaultSpec[]> {
  if (Array.isArray(faults) && faults.length === 0) return []; // Avoids loading their code.
  const { readFaultSpecs } = await import("../broker/wire/faults/fault-specs.ts");
  const read = readFaultSpecs(faults);
  return read.ok ? read.value : refuseConfig(read.fault.join("\n"));
}
