/** A client that tells a circuit how its calls fare, and tries none while the circuit is open. */
import type { Kind, KubeObject } from "#api/meta";
import type { Client } from "#kube";
import type { Circuit } from "./circuit.ts";

export function guardedClient(client: Client, circuit: Circuit): Client {
  const guarded = async <A>(call: () => Promise<A>): Promise<A> => {
    const refusal = circuit.refusal(client.server);
    if (refusal) throw refusal;
    try {
      const answer = await call();
      circuit.answered();
      return answer;
    } catch (error) {
      circuit.failed(error);
      throw error;
    }
  };
  return {
    get server() {
      return client.server;
    },
    get: (kind, key, options) => guarded(() => client.get(kind, key, options)),
    list: (kind, options) => guarded(() => client.list(kind, options)),
    watch: (kind, options) => guarded(() => client.watch(kind, options)),
    create: (kind, object, options) => guarded(() => client.create(kind, object, options)),
    createSub: (kind, key, subresource, body, options) =>
      guarded(() => client.createSub(kind, key, subresource, body, options)),
    update: <T extends KubeObject>(kind: Kind<T>, object: T, options?: Parameters<Client["update"]>[2]) =>
      guarded(() => client.update(kind, object, options)),
    patch: (kind, key, patch, options) => guarded(() => client.patch(kind, key, patch, options)),
    delete: (kind, key, options) => guarded(() => client.delete(kind, key, options)),
    raw: (path, options) => guarded(() => client.raw(path, options)),
    close: () => client.close(),
  };
}
