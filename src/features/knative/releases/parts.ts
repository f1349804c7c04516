/** Which folders of the releases a component is put together from. */
import { KnativeComponent, type KnativeEventingSpec, type KnativeServingSpec } from "#api/knative";
import type { Component } from "../component.ts";
import { LATEST, minorOf } from "./version.ts";

const INGRESSES = ["istio", "contour", "kourier", "gateway-api"] as const;
type Ingress = (typeof INGRESSES)[number];

const SOURCES = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"] as const;

/** The security guard that goes with a minor version. */
const GUARDS: Readonly<Record<string, string>> = { "1.20": "0.6", "1.21": "0.6", "1.22": "0.6", "1.23": "0.6" };

/** Istio unless something is said; what is said and disables all of them means none. */
export function enabledIngresses({ ingress }: Pick<KnativeServingSpec, "ingress">): readonly Ingress[] {
  if (!ingress) return ["istio"];
  return INGRESSES.filter((name) => ingress[name]?.enabled);
}

function enabledSources({ source }: Pick<KnativeEventingSpec, "source">): readonly string[] {
  return SOURCES.filter((name) => source?.[name].enabled);
}

export function basePath({ kind }: Pick<Component, "kind">, version: string): string {
  return `${KnativeComponent[kind]}/${version}`;
}

/** Ingresses of Serving, sources of Eventing. Without a version nobody can tell which ones fit. */
export function extensionPaths(component: Component, version: string): string[] {
  const minor = version.toLowerCase() === LATEST ? LATEST : minorOf(version);
  if (minor === undefined) return [];
  return component.kind === "KnativeServing"
    ? enabledIngresses(component.spec).map((name) => `ingress/${minor}/${name}`)
    : enabledSources(component.spec).map((name) => `eventing-source/${minor}/${name}`);
}

/** The folder of the security guard, or why there is none for this version; undefined if nobody wants one. */
export function guardPath(
  component: Component,
  version: string,
  newest: string,
): { readonly path: string } | { readonly problem: string } | undefined {
  if (component.kind !== "KnativeServing" || !component.spec.security?.securityGuard.enabled) return undefined;
  const minor = minorOf(version.toLowerCase() === LATEST ? newest : version);
  if (minor === undefined) return undefined;
  const guard = GUARDS[minor];
  if (guard !== undefined) return { path: `security-guard/${guard}` };
  return {
    problem: `the current version of Knative Serving is ${minor}. You need to install the version 1.8 or above to support the security guard`,
  };
}

/** Version variables in a URL stand for the target version, without a `v`. */
export function locationsOf(list: readonly { readonly URL: string }[] | undefined, version: string): string[] {
  return (list ?? []).map(({ URL }) => URL.replace(/\$\{VERSION\}/g, () => version));
}

const BUNDLED =
  /(?:^|\/)((?:knative-(?:serving|eventing)|security-guard)\/[^/]+|(?:ingress|eventing-source)\/[^/]+\/[^/]+)$/;

/**
 * Where a path of `status.manifests` lies here. Another operator, or this one with its releases elsewhere, may have
 * written it: what counts is what the path ends with.
 */
export function bundledPath(path: string): string | undefined {
  return BUNDLED.exec(path)?.[1];
}

export function isUrl(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location);
}
