// tidegate console: serves the console of a pipeline that runs elsewhere, until a signal.
//   C1. It prints one ready line on stdout with the address to open.

import { SETTINGS } from "../../../run/config.ts";
import { command, EXIT_OK, text, textList, toggle, wholeNumber } from "../../command.ts";
import { ledgerLocation } from "../../flags/location-flags.ts";
import { describeFailure } from "../../screen/output.ts";
import { stopSignal } from "../../stop-signals.ts";
import { queueFlags } from "../fix/dlq.ts";

const PORT_MAX = 65_535;

/** Flags of every command that serves a console. */
export const consoleFlags = {
  "allow-actions": toggle("Let the console change things: send, redrive, drop, upload."),
  "console-token": {
    ...text("TOKEN", null, "Token that the console asks for; required if others can reach it."),
    env: "TIDEGATE_CONSOLE_TOKEN",
  },
  "trace-url": {
    ...text("URL", null, "Address of a trace viewer; {traceId} stands for the id."),
    env: "TIDEGATE_TRACE_URL",
  },
};

/** A flag of commands whose console may have no pipeline file. */
export const maskFlag = textList(
  "PATH[,PATH]",
  "Values that the console hides, as `mask` of a pipeline; may be repeated.",
);

export const consoleCommand = command({
  name: "console",
  summary: "Serve the web console for a pipeline that runs elsewhere, such as on AWS.",
  flags: {
    pipeline: text("FILE", null, "Pipeline file: for its masks, its queue and its setup check."),
    ...ledgerLocation,
    ...queueFlags,
    queue: {
      ...text("QUEUE", null, "Queue of the pipeline (default: from the pipeline file)."),
      env: SETTINGS.queue.env,
    },
    port: wholeNumber("PORT", { min: 0, max: PORT_MAX }, "4567", "Port; 0 picks a free one."),
    host: text("ADDRESS", "127.0.0.1", "Address to listen on; any but loopback needs a token."),
    "allow-host": text("NAME[,NAME]", null, "Further host names that clients may call it by."),
    ...consoleFlags,
    mask: maskFlag,
    json: toggle("Print the ready line as JSON."),
  },
  async run({ flags, out }) {
    const stopped = stopSignal();
    const [{ startConsole }, { isPipelineFile, loadPipeline }] = await Promise.all([
      import("../../../console/start-console.ts"),
      import("../../../run/open/load-pipeline.ts"),
    ]);
    const { pipeline: file, ledger, data, endpoint, region } = flags;
    const isFile = file !== undefined && isPipelineFile(file);
    const pipeline = isFile ? await loadPipeline(file) : null;
    const running = await startConsole({
      ledger,
      data,
      endpoint,
      region,
      queue: flags.queue ?? pipeline?.source.queue ?? null,
      deadLetterQueue: flags["dead-letter-queue"],
      pipeline,
      file,
      port: flags.port ?? 0,
      host: flags.host ?? "127.0.0.1",
      allowHost: flags["allow-host"],
      allowActions: flags["allow-actions"],
      token: flags["console-token"],
      traceUrl: flags["trace-url"],
      mask: flags.mask,
      onError: (error) => out.note(describeFailure(error)),
    });
    const { link, origin } = running;
    const ready = { ready: true, console: link, origin, pid: process.pid };
    out.line(flags.json ? JSON.stringify(ready) : `tidegate console is ready at ${link}`); // C1
    await stopped;
    await running.close();
    return EXIT_OK;
  },
});
