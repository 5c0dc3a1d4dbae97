// Dead letter selection: the filter, and what can be done with everything that matches it.
//   X1. An action is about all dead letters that match, not only about those on the screen. The
//       buttons and dialogs say so.
//   X2. Dropping needs the count of a dry run, which the operator types again.

import { useState } from "preact/hooks";
import type { ApiSchema } from "../../../api/api-schema.ts";
import { callApi } from "../../data/api-client.ts";
import {
  filterFlags,
  filterQuery,
  filterWords,
  type LetterFilter,
} from "../../data/dead-letter-filter.ts";
import { goTo, linkTo } from "../../data/route.ts";
import { useRefusal, useScopedPath } from "../../data/session.ts";
import { CommandLine } from "../../parts/code.tsx";
import { ActionButton, Choice, TextField } from "../../parts/fields.tsx";
import { Panel } from "../../parts/layout.tsx";
import { Notice } from "../../parts/notices.tsx";
import { DropDialog, RedriveDialog } from "./dead-letter-dialogs.tsx";

interface SelectionProps {
  readonly filter: LetterFilter;
  /** The view that shows the filter; null hides the fields, because the view fixes the filter. */
  readonly path: readonly string[] | null;
}

const AGES: readonly (readonly [string, string])[] = [
  ["", "Any"],
  ["3600000", "1 hour"],
  ["86400000", "1 day"],
  ["604800000", "7 days"],
];

export function SelectionPanel({ filter, path }: SelectionProps) {
  const [dialog, setDialog] = useState<"redrive" | "drop" | null>(null);
  const [error, setError] = useState<string | null>(null);
  const refusal = useRefusal();
  const redrivePath = useScopedPath("/dead-letters/redrive");
  const close = () => setDialog(null);
  const dryRun = async () => {
    try {
      const body = { filter, dryRun: true };
      const job = await callApi<ApiSchema["Job"]>(redrivePath, { method: "POST", body });
      goTo(linkTo(["jobs", job.id], filterQuery(filter)));
    } catch (cause) {
      setError((cause as Error).message);
    }
  };
  return (
    <Panel
      title="Selection"
      note={`${filterWords(filter)}, on all pages`}
      actions={
        <>
          <ActionButton refusal={refusal} onAct={() => void dryRun()}>
            Dry run
          </ActionButton>
          <ActionButton refusal={refusal} tone="accent" onAct={() => setDialog("redrive")}>
            Redrive…
          </ActionButton>
          <ActionButton refusal={refusal} tone="bad" onAct={() => setDialog("drop")}>
            Drop…
          </ActionButton>
        </>
      }
    >
      {path !== null && <FilterFields filter={filter} path={path} />}
      {refusal !== null && <p class="muted">{refusal}</p>}
      {error !== null && <Notice tone="bad" title={error} live />}
      <CommandLine text={`tidegate dlq redrive${filterFlags(filter)} --dry-run`} />
      {dialog === "redrive" && <RedriveDialog filter={filter} onClose={close} />}
      {dialog === "drop" && <DropDialog filter={filter} onClose={close} />}
    </Panel>
  );
}

interface FilterFieldsProps {
  readonly filter: LetterFilter;
  readonly path: readonly string[];
}

function FilterFields({ filter, path }: FilterFieldsProps) {
  const [errorClass, setErrorClass] = useState(filter.errorClass ?? "");
  const [fingerprint, setFingerprint] = useState(filter.fingerprint ?? "");
  const [key, setKey] = useState(filter.key ?? "");
  const apply = (event: Event) => {
    event.preventDefault();
    goTo(linkTo(path, { ...filterQuery(filter), errorClass, fingerprint, key }));
  };
  const age = (name: "olderThanMs" | "newerThanMs") => (value: string) =>
    goTo(linkTo(path, { ...filterQuery(filter), [name]: value }));
  return (
    <form class="filters" onSubmit={apply}>
      <TextField label="Class" value={errorClass} onValue={setErrorClass} />
      <TextField label="Fingerprint starts with" value={fingerprint} onValue={setFingerprint} />
      <TextField label="Key or part of an object" value={key} onValue={setKey} />
      <Choice
        label="Older than"
        value={String(filter.olderThanMs ?? "")}
        onValue={age("olderThanMs")}
        options={AGES}
      />
      <Choice
        label="Newer than"
        value={String(filter.newerThanMs ?? "")}
        onValue={age("newerThanMs")}
        options={AGES}
      />
      <button type="submit">Apply</button>
    </form>
  );
}
