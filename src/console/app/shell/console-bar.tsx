// Console bar: the line on top: which pipeline, whether actions are allowed, and whether the data
// is live.

import type { ApiSchema } from "../../api/api-schema.ts";
import { timeText } from "../data/format.ts";
import { goTo, linkTo, parseRoute } from "../data/route.ts";
import type { Loaded } from "../data/use-load.ts";
import { Logo } from "../parts/icons.tsx";
import { Badge } from "../parts/layout.tsx";

interface ConsoleBarProps {
  readonly session: Loaded<ApiSchema["Session"]>;
  readonly flow: Loaded<ApiSchema["Flow"]>;
}

export function ConsoleBar({ session, flow }: ConsoleBarProps) {
  const { data } = session;
  const error = flow.error ?? session.error;
  const at = flow.data?.at ?? null;
  return (
    <header class="bar">
      <a class="brand" href={linkTo(["flow"])}>
        <Logo /> Tidegate
      </a>
      {data !== null && <PipelineChoice session={data} flow={flow.data} />}
      <span class="spacer" />
      {data?.readOnly && <Badge tone="none">Read-only</Badge>}
      <span class="live" data-state={error === null ? "up" : "down"}>
        {error === null ? <>Live · {at === null ? "–" : timeText(at).slice(11)} UTC</> : "No data"}
      </span>
    </header>
  );
}

interface PipelineChoiceProps {
  readonly session: ApiSchema["Session"];
  readonly flow: ApiSchema["Flow"] | null;
}

function PipelineChoice({ session, flow }: PipelineChoiceProps) {
  const { pipelines } = session;
  const shown = flow?.pipeline ?? null;
  if (pipelines.length === 0) return <span class="where">no pipeline</span>;
  const idOf = (name: string, generation: number) => `${name} ${generation}`;
  const current = shown === null ? "" : idOf(shown, flow?.generation ?? 0);
  if (pipelines.length === 1) {
    return (
      <span class="where">
        <strong>{pipelines[0]?.name}</strong>
        {(pipelines[0]?.generation ?? 0) > 0 && `generation ${pipelines[0]?.generation}`}
      </span>
    );
  }
  const choose = (id: string) => {
    const pipeline = pipelines.find(({ name, generation }) => idOf(name, generation) === id);
    if (pipeline === undefined) return;
    const { path } = parseRoute(location.hash);
    const { name, generation } = pipeline;
    goTo(linkTo(path.slice(0, 1), { pipeline: name, generation }));
  };
  return (
    <label class="where">
      <span class="hidden-text">Pipeline</span>
      <select value={current} onChange={(event) => choose(event.currentTarget.value)}>
        {pipelines.map(({ name, generation }) => (
          <option key={idOf(name, generation)} value={idOf(name, generation)}>
            {name}
            {generation > 0 ? `, generation ${generation}` : ""}
          </option>
        ))}
      </select>
    </label>
  );
}
