// Host names: the value of --allow-host, a list of names and addresses separated by commas.

import { refuseConfig } from "../core/errors.ts";

const NAME = /^[a-z\d_](?:[a-z\d._-]{0,252})$/i;

/** Whether a text is a bare host name, without scheme and port. */
export function isHostName(text: string): boolean {
  return NAME.test(text);
}

/** An IPv6 address as in a URL. */
const ADDRESS = /^\[[\da-f:.]+\]$/i;

/** Throws TG_CONFIG_INVALID for anything that is not a bare name, such as a URL or a port. */
export function parseHostNames(list: string | undefined): string[] {
  const names = (list ?? "").split(",").flatMap((name) => name.trim() || []);
  for (const name of names) {
    if (isHostName(name) || ADDRESS.test(name)) continue;
    const message = `${JSON.stringify(name)} is not a host name; allowed hosts have neither scheme nor port`;
    refuseConfig(message);
  }
  return names;
}
