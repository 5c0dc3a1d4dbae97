// Planted bugs of masked messages: each shows a value that governance hides, or treats a message
// that is stored masked as another one. Only worlds with an archive show most of them.

import type { PlantedBug } from "./planted-bug.ts";

export const MASK_BUGS: readonly PlantedBug[] = [
  {
    name: "archived-before-masked",
    mistake: "The archive stores a masked message as it was delivered.",
    file: "src/ingest/archive/archived-form.ts",
    find: "if (masked === null) return { ...plain, masked: false, body, attributes };",
    replace:
      'if (masked === null || masked.kind !== "withheld")\n' +
      "    return { ...plain, masked: masked !== null, body, attributes };",
    checker: "masked-stays-hidden",
    world: "archive",
  },
  {
    name: "masked-for-the-archive-alone",
    mistake: "The archive gets the masked message, and the handler the message itself.",
    file: "src/ingest/stages/govern.ts",
    find: "        return masked.envelope;\n",
    replace: "        return envelope;\n",
    checker: "masked-stays-hidden",
    world: "archive",
  },
  {
    name: "dossier-not-masked",
    mistake: "The failure report of a dead letter contains the payload in clear.",
    file: "src/ingest/dead-letters/make-dossier.ts",
    find: "{ payload: ports.masked.payloadOf(record) }",
    replace: "{ payload: record.original }",
    checker: "masked-stays-hidden",
    world: "archive",
  },
  {
    name: "masked-message-reported-gone",
    mistake: "A replay says that a message is gone if it cannot read its masked form.",
    file: "src/replay/archived-messages.ts",
    find: 'const cause = masked ? "masked" : "unreadable"; // M1',
    replace: 'const cause = masked ? "gone" : "unreadable";',
    checker: "masked-stays-hidden",
    world: "archive",
  },
  {
    name: "masked-message-not-checked",
    mistake: "A replay runs a message whose masked form its code cannot read.",
    file: "src/replay/archived-messages.ts",
    find: 'if (record === undefined || record.content.kind === "unusable") {',
    replace: "if (record === undefined) {",
    checker: "replay-same-messages",
    world: "archive",
  },
];
