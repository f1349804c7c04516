import { Deployment } from "#api/apps";
import type { Container } from "#api/core";
import { isWorkload, type Transformer, withContainers, withSpec } from "./objects.ts";
import { PING_ADAPTER } from "./replicas.ts";

/** What Eventing's controller writes into the adapter while ping sources come and go. */
const WRITTEN_BY_EVENTING: ReadonlySet<string> = new Set([
  "SYSTEM_NAMESPACE",
  "K_METRICS_CONFIG",
  "K_LOGGING_CONFIG",
  "K_LEADER_ELECTION_CONFIG",
  "K_NO_SHUTDOWN_AFTER",
  "K_SINK_TIMEOUT",
  "K_TRACING_CONFIG",
  "NAMESPACE",
]);

/** The adapter of the release, with what Eventing has made of the one that runs. */
export function withLivePingAdapter(live: Deployment | undefined): Transformer {
  return (object) => {
    if (!live || !isWorkload(object, [Deployment]) || object.metadata.name !== PING_ADAPTER) return object;
    const running = new Map(live.spec.template.spec.containers.map((container) => [container.name, container]));
    return withSpec(
      withContainers(object, (container) => keeping(container, running.get(container.name))),
      { replicas: live.spec.replicas },
    );
  };
}

function keeping(container: Container, live: Container | undefined): Container {
  if (!live) return container;
  const kept = (live.env ?? []).filter(({ name }) => WRITTEN_BY_EVENTING.has(name));
  const names = new Set(kept.map(({ name }) => name));
  const env = [...kept, ...(container.env ?? []).filter(({ name }) => !names.has(name))];
  return env.length > 0 ? { ...container, env } : container;
}
