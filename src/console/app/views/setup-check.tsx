// Setup check: findings of the queue check, with fixes.

import type { ApiSchema } from "../../api/api-schema.ts";
import { amountText, timeText } from "../data/format.ts";
import { useScopedPath } from "../data/session.ts";
import { useLoad } from "../data/use-load.ts";
import { CommandLine } from "../parts/code.tsx";
import { Badge, Heading, Panel, type Tone } from "../parts/layout.tsx";
import { LoadError, Notice, Waiting } from "../parts/notices.tsx";

type Finding = ApiSchema["Finding"];

const CHECK_MS = 4_000;

const TONES: Readonly<Record<Finding["severity"], Tone>> = {
  error: "bad",
  warning: "warn",
  note: "none",
};

export function SetupCheckScreen() {
  const loaded = useLoad<ApiSchema["SetupCheck"]>(useScopedPath("/setup-check"), CHECK_MS);
  const { data } = loaded;
  const isRunning = data !== null && data.checked === 0;
  return (
    <>
      <Heading
        title="Setup check"
        lead="Settings of queues, topics and buckets that lose messages, apply them twice or cost money."
      >
        <button type="button" onClick={loaded.reload}>
          Check again
        </button>
      </Heading>
      <LoadError loaded={loaded} what="Setup check" />
      {data === null && loaded.error === null && <Waiting rows={6} />}
      {isRunning && (
        <Notice tone="none" title="The check is running" live>
          Findings appear here within seconds.
        </Notice>
      )}
      {data !== null && !isRunning && data.findings.length === 0 && (
        <Notice tone="good" title="No findings">
          {amountText(data.checked, "rule")} checked at {timeText(data.at)}.
        </Notice>
      )}
      {data !== null && data.findings.length > 0 && <Findings findings={data.findings} />}
      {data !== null && !isRunning && data.unknown.length > 0 && (
        <Panel title="Not checked">
          <ul class="plain">
            {data.unknown.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <Panel title="Findings" note={amountText(findings.length, "finding")} flush>
      <ul class="findings">
        {findings.map(({ id, severity, subject, message, fix }) => (
          <li key={`${id} ${subject} ${message}`}>
            <div class="finding-title">
              <Badge tone={TONES[severity]}>{severity}</Badge>
              <strong>{subject}</strong>
              <span class="muted mono">{id}</span>
            </div>
            <p>{message}</p>
            <p class="muted">Fix: {fix}</p>
            <CommandLine text={`tidegate doctor explain ${id}`} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
