// Sim launcher: tasks of the simulated world. They run on a machine that outlives the processes of
// the world, as tasks of a cluster do, and end when their time has come.
//   M1. A task notes its start in the history, as a handler does.
//   M2. A task belongs to the highest fence that started or found it (K3 of
//       ports/task-launcher.ts).
//   M3. The machine notes a second task of a name while one is running: that is what adoption
//       prevents.

import { createTaskPipeline } from "../../src/adapters/task/task-handler.ts";
import { durationMs } from "../../src/core/units.ts";
import type { Pipeline } from "../../src/ingest/spec/define-pipeline.ts";
import type { Task, TaskEnd, TaskLauncher } from "../../src/ports/task-launcher.ts";
import { createSimPipeline } from "../../src/sim/hosts/sim-pipeline.ts";
import type { HandlerTools } from "../../src/sim/world-parts.ts";

interface SimTask {
  readonly record: string;
  readonly endsAt: number;
  readonly end: TaskEnd;
  owner: number;
  stopped: boolean;
}

/** One machine per world. */
export class SimMachine {
  /** Tasks by name. */
  readonly tasks = new Map<string, SimTask>();
  /** Records that had two tasks at a time (M3). */
  readonly doubled: string[] = [];
}

interface EventBody {
  readonly envelope?: { readonly dedupe_key: string };
  readonly body?: { readonly dedupe_key: string };
  readonly attempt: number;
  readonly lane: string;
  readonly watermark: number | null;
}

export function createSimLauncher(
  tools: HandlerTools,
  { tasks: machine, doubled }: SimMachine,
): TaskLauncher {
  const { clock } = tools;
  const hasEnded = ({ endsAt, stopped }: SimTask) => stopped || clock.now() >= endsAt;

  function handle(name: string, fence: number): Task {
    const task = () => machine.get(name);
    return {
      id: name,
      async wait(signal) {
        for (;;) {
          const current = task();
          if (current === undefined) return { kind: "vanished", reason: "the machine forgot it" };
          if (current.stopped) return { kind: "killed", signal: "SIGTERM" };
          if (hasEnded(current)) return current.end;
          await clock.sleep(durationMs(current.endsAt - clock.now()), signal);
        }
      },
      async stop() {
        const current = task();
        if (current !== undefined && current.owner <= fence) current.stopped = true; // M2
      },
      async *result() {
        yield JSON.stringify({ op: "emit", value: task()?.record });
      },
      async forget() {
        if ((task()?.owner ?? 0) <= fence) machine.delete(name);
      },
    };
  }

  return {
    async find(name, fence) {
      const current = machine.get(name);
      if (current === undefined) return null;
      current.owner = Math.max(current.owner, fence);
      return handle(name, fence);
    },
    async start({ name, fence, event }) {
      const { envelope, body, attempt, lane, watermark } = JSON.parse(event) as EventBody;
      const record = envelope?.dedupe_key ?? body?.dedupe_key ?? "";
      const running = machine.get(name);
      if (running !== undefined && !hasEnded(running)) doubled.push(record); // M3
      const plan = tools.planOf(record);
      tools.handling(record, attempt, fence, { lane, watermark }); // M1
      const fails = plan.poison || attempt <= plan.failures;
      machine.set(name, {
        record,
        endsAt: clock.now() + plan.durationMs,
        end: { kind: "exited", code: fails ? 1 : 0 },
        owner: fence,
        stopped: false,
      });
      return handle(name, fence);
    },
  };
}

/** The pipeline of the simulated world, by tasks. */
export function createSimTaskPipeline(tools: HandlerTools, machine: SimMachine): Pipeline {
  const launcher = createSimLauncher(tools, machine);
  // The world's sink is a port; the pipeline only has to name one.
  const pipeline = { ...createSimPipeline(tools), sink: () => undefined };
  const options = { whenStopping: "leave" } as const;
  return createTaskPipeline({ clock: tools.clock, launcher }, pipeline, options).pipeline;
}
