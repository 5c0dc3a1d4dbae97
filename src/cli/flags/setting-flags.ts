// Setting flags: the table of settings (run/config.ts) as flags of a command.

import { fallbackOf, type RunSettings, type SettingCommand, settingsOf } from "../../run/config.ts";
import { type Flag, oneOf, text, UsageError, wholeNumber } from "../command.ts";

type SettingFlag = Flag<string> | Flag<number> | Flag<boolean>;
type SettingFlags = Readonly<Record<string, SettingFlag>>;

export function settingFlags(command: SettingCommand): SettingFlags {
  const flags: Record<string, SettingFlag> = {};
  for (const [, setting] of settingsOf(command)) {
    const { flag, env, takes, doc } = setting;
    const fallback = fallbackOf(setting, command);
    if (takes.kind === "text") flags[flag] = { ...text(takes.value, fallback, doc), env };
    else if (takes.kind === "choice") flags[flag] = { ...oneOf(takes.choices, fallback, doc), env };
    else if (takes.kind === "toggle") flags[flag] = { ...switchOf(doc), env };
    else flags[flag] = { ...wholeNumber(takes.value, takes, fallback, doc), env };
  }
  return flags;
}

/** A toggle as a flag, `true` or `false` as a variable. */
function switchOf(doc: string): Flag<boolean> {
  return {
    value: null,
    fallback: null,
    doc,
    parse(given, name) {
      if (given === true || given === "true" || given === "1") return true;
      if (given === "false" || given === "0") return false;
      throw new UsageError(`--${name} must be true or false, not "${given}"`);
    },
  };
}

/** The values of those flags, by the setting names of the library. */
export function settingsFrom(
  command: SettingCommand,
  values: Readonly<Record<string, unknown>>,
): RunSettings {
  const given = settingsOf(command).map(([name, { flag }]) => [name, values[flag]] as const);
  const settings = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return settings as RunSettings;
}
