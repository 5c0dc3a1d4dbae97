// fauxqs in its own process: in memory, or with its persistence if a folder is given.

import { startFauxqs } from "fauxqs";
import { answerMemory } from "./memory-report.ts";

const [dataDir] = process.argv.slice(2);
const server = await startFauxqs({
  port: 0,
  logger: false,
  ...(dataDir === undefined ? {} : { dataDir }),
});
answerMemory();
process.on("SIGTERM", async () => {
  await server.stop();
  process.exit(0);
});
console.log(`ready http://127.0.0.1:${server.port}`);
