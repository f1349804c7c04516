import { apiVersionOf, type Kind, type KubeObject } from "#api/meta";
import type { WatchEvent, WatchOptions } from "#kube";
import { type FakeScope, inScope } from "./fake-scope.ts";
import type { FakeStore } from "./fake-store.ts";

/** A watch as an API server serves it: what is there if asked for, then what happens, until the signal fires. */
export function watchStore(
  store: FakeStore,
  resource: string,
  kind: Kind<KubeObject>,
  options: FakeScope & WatchOptions,
): AsyncIterable<WatchEvent<KubeObject>> {
  const wanted = inScope(options);
  const pending: WatchEvent<KubeObject>[] = [];
  let wake = () => {};
  let open = true;
  const push = (type: WatchEvent<KubeObject>["type"], object: KubeObject) => {
    pending.push({ type, object });
    wake();
  };

  if (!options.resourceVersion || options.resourceVersion === "0" || options.sendInitialEvents) {
    for (const object of store.list(resource).filter(wanted)) push("ADDED", object);
  }
  if (options.sendInitialEvents) {
    const annotations = { "k8s.io/initial-events-end": "true" };
    const metadata = { name: "", resourceVersion: String(store.revision), annotations };
    push("BOOKMARK", { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata });
  }
  const unsubscribe = store.onChange(resource, (before, after) => {
    const was = before !== undefined && wanted(before);
    if (after && wanted(after)) push(was ? "MODIFIED" : "ADDED", after);
    else if (was) push("DELETED", withVersion(before, store.revision));
  });
  const close = () => {
    open = false;
    unsubscribe();
    wake();
  };
  if (options.signal?.aborted) close();
  options.signal?.addEventListener("abort", close, { once: true });

  return {
    async *[Symbol.asyncIterator]() {
      try {
        while (open) {
          const next = pending.shift();
          if (next) {
            yield next;
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        close();
      }
    },
  };
}

/** A deletion is told with the last state and the version of the deletion. */
function withVersion(object: KubeObject, revision: number): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}
