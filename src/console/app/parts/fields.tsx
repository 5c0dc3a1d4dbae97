// Fields: labelled inputs, and buttons that say why they are disabled.

import type { ComponentChildren } from "preact";

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly placeholder?: string;
  readonly wide?: boolean;
  readonly type?: "text" | "search" | "number" | "datetime-local";
  readonly min?: number;
  readonly max?: number;
  readonly note?: ComponentChildren;
  readonly required?: boolean;
}

export function TextField(props: TextFieldProps) {
  const { label, value, onValue, placeholder, wide = false, type = "text", note } = props;
  const step = type === "datetime-local" ? 1 : undefined;
  const limits: object = { type, step, min: props.min, max: props.max, required: props.required };
  return (
    <label class={wide ? "field wide" : "field"}>
      <span>{label}</span>
      <input
        {...limits}
        value={value}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {note !== undefined && <small>{note}</small>}
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly options: readonly (readonly [value: string, text: string])[];
}

export function Choice({ label, value, onValue, options }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function TextArea({ label, value, onValue, note }: TextFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        value={value}
        spellcheck={false}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {note !== undefined && <small>{note}</small>}
    </label>
  );
}

interface ActionProps {
  readonly tone?: "accent" | "bad";
  /** Why the action is not possible; null if it is. */
  readonly refusal: string | null;
  readonly onAct: () => void;
  readonly children: ComponentChildren;
}

/** A button for something that changes data. While it is refused, its title says why. */
export function ActionButton({ tone, refusal, onAct, children }: ActionProps) {
  return (
    <button
      type="button"
      data-tone={tone}
      disabled={refusal !== null}
      title={refusal ?? undefined}
      onClick={onAct}
    >
      {children}
    </button>
  );
}
