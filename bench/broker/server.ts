// Tidegate's server in a process that reports its memory: the same cloud that `tidegate up` starts,
// without the command line. One argument: the data folder, or none to run in memory.

import { answerMemory } from "./memory-report.ts";

/** The part of `startCloud` that is used here. */
interface CloudModule {
  startCloud(options: { readonly data?: string; readonly port: number }): Promise<{
    readonly endpoint: string;
    close(): Promise<void>;
  }>;
}

const cloudModule = new URL("../../src/cloud/start-cloud.ts", import.meta.url).href;
const { startCloud } = (await import(cloudModule)) as CloudModule;
const [data] = process.argv.slice(2);
const cloud = await startCloud({ port: 0, ...(data === undefined ? {} : { data }) });
answerMemory();
process.on("SIGTERM", async () => {
  await cloud.close();
  process.exit(0);
});
console.log(`ready ${cloud.endpoint}`);
