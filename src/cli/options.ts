/** Values that several commands take, read the same way everywhere. */
import { homedir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { parseDuration } from "#lib/duration";
import type { LogLevel } from "#lib/log";

export function defaultDirectory(): string {
  return join(homedir(), ".capstan", "default");
}

export function count(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < min)
      throw new InvalidArgumentError(`It must be a whole number of at least ${min}.`);
    return value;
  };
}

export function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65535)
    throw new InvalidArgumentError("It must be a port between 1 and 65535.");
  return value;
}

/** `90s`, `12h`, `1h30m`, `365d`; in milliseconds. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("It must be a duration like 90s, 12h, 1h30m or 365d.");
  return ms;
}

const CLUSTER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function clusterName(name: string): string {
  if (CLUSTER_NAME.test(name)) return name;
  throw new InvalidArgumentError(
    `${JSON.stringify(name)} is no cluster name: lower-case letters, digits and '-', at most 63.`,
  );
}

export function clusterNames(text: string): string[] {
  const names = text.split(",").map((name) => clusterName(name.trim()));
  if (new Set(names).size !== names.length) throw new InvalidArgumentError("A cluster is named twice.");
  return names;
}

export function httpsUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:") throw new InvalidArgumentError("It must be a URL like https://host:6443.");
  return text.replace(/\/+$/, "");
}

/** `a,b,c` */
export function words(text: string): string[] {
  const found = text.split(",").map((word) => word.trim());
  if (found.includes("")) throw new InvalidArgumentError("It must be words, separated by commas.");
  return found;
}

/** CAPSTAN_LOG says how much programs tell; `info` unless told. */
export function logLevel(): LogLevel {
  return process.env.CAPSTAN_LOG === "debug" ? "debug" : "info";
}

export interface Address {
  /** Empty for every address of this machine; only this machine's own unless told. */
  readonly host?: string;
  readonly port: number;
}

export function address(text: string): Address {
  const [, host, port = ""] = /^(?:(.*):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65535) throw new InvalidArgumentError("It must be HOST:PORT, :PORT or PORT.");
  if (host === undefined) return { port: Number(port) };
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
