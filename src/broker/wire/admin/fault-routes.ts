// /_tidegate/faults: shows, adds and clears injected faults.
//   F1. A request adds all of its faults, or none.
//   F2. A name that does not exist is rejected: a misspelt fault would never fire, and a test that
//       relies on it would prove nothing.

import type { Broker } from "../../engine/broker.ts";
import type { FaultSpec } from "../../model/fault-plan.ts";
import type { ServerContext } from "../protocol/call.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";
import { adminError, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

export const faults = adminRoute({
  path: "faults",
  summary: "injected faults; POST adds one or a list, DELETE clears",
  methods: {
    GET: ({ server }) => showFaults(server),
    POST: addFaults,
    DELETE: ({ server }) => {
      server.broker.faults.clear();
      return showFaults(server);
    },
  },
});

async function addFaults({ server, request }: AdminCall) {
  // Loaded on demand, because it imports all actions, including S3's.
  const { FAULTS_MAX, readFaultSpecs } = await import("../faults/fault-specs.ts");
  const read = readFaultSpecs(parse(decodeUtf8(request.body)));
  if (!read.ok) return refused(read.fault);
  const plan = server.broker.faults;
  if (plan.size + read.value.length > FAULTS_MAX) {
    return refused([`more than ${FAULTS_MAX} faults in total; clear them with DELETE`]);
  }
  const missing = (await Promise.all(read.value.map((spec) => missingTarget(server, spec)))).filter(
    (problem) => problem !== null,
  );
  if (missing.length > 0) return refused(missing); // F2
  for (const spec of read.value) plan.put(spec); // F1
  return showFaults(server);
}

function showFaults(server: ServerContext) {
  return adminReply(200, { faults: server.broker.faults.view() });
}

function refused(problems: readonly string[]) {
  return adminError(400, "InvalidFault", problems.join("; "));
}

/** Undefined, which is not a valid fault, if the text is not JSON. */
function parse(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function missingTarget(
  { broker }: ServerContext,
  { target }: FaultSpec,
): Promise<string | null> {
  const [kind = "", name = ""] = Object.entries(target)[0] ?? [];
  if (name === "*") return null;
  const there = await exists(broker, target, name);
  return there ? null : `${kind} ${JSON.stringify(name)} does not exist`;
}

async function exists(broker: Broker, target: FaultSpec["target"], name: string): Promise<boolean> {
  if ("queue" in target) return (await broker.submit("findQueue", { queue: name })).ok;
  if ("topic" in target) return (await broker.submit("getTopicAttributes", { topic: name })).ok;
  return (await broker.submit("findBucket", { bucket: name })).ok;
}
