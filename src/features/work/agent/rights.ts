/**
 * Works whose executor has got or lost a right hear of it at once, as far as roles and bindings of the spoke tell. These
 * are watched only for as long as there are works with an executor; what other authorities decide is asked now and then.
 */
import type { Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding, type Subject } from "#api/rbac";
import { type Client, createCache, type ObjectCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";

/** Who executes, as the spoke knows them. */
export interface Account {
  readonly user: string;
  readonly groups: readonly string[];
}

export interface RightsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** What this account may do may have changed, which this follower wants to know. */
  readonly onChange: (follower: string, account: Account) => void;
}

/** The server that is asked hears of roles by a watch too; by then it should know. Many changes at once are one. */
const SETTLING = 500;

type Binding = RoleBinding | ClusterRoleBinding;

export class Rights {
  readonly #options: RightsOptions;
  readonly #followers = new Map<string, Account>();
  readonly #changed = new Set<string>();
  #watching: AbortController | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: RightsOptions) {
    this.#options = options;
  }

  follow(follower: string, account: Account): void {
    this.#followers.set(follower, account);
    this.#watching ??= this.#watch();
  }

  leave(follower: string): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.close();
  }

  close(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#changed.clear();
  }

  #watch(): AbortController {
    const life = new AbortController();
    const { signal } = life;
    const views: Promise<void>[] = [];
    const open = <T extends KubeObject>(kind: Kind<T>, projection: "metadata" | readonly string[]): ObjectCache<T> => {
      const { client, clock, log } = this.#options;
      const cache = createCache<T>({
        client,
        kind,
        scope: { projection },
        clock,
        log: (message) => log.debug(message),
      });
      cache.start(signal);
      views.push(cache.whenSynced());
      return cache;
    };
    const bindings = [RoleBinding, ClusterRoleBinding].map((kind) => {
      const cache = open<Binding>(kind as Kind<Binding>, ["roleRef", "subjects"]);
      cache.onChange((before, after, initial) => {
        if (!initial) this.#tell([...(before?.subjects ?? []), ...(after?.subjects ?? [])]);
      });
      return cache.indexBy(roleOf);
    });
    for (const kind of [Role, ClusterRole]) {
      open<KubeObject>(kind, "metadata").onChange((before, after, initial) => {
        const { namespace, name = "" } = (after ?? before)?.metadata ?? {};
        const role = keyOf(kind.kind, namespace, name);
        if (!initial) this.#tell(bindings.flatMap((index) => index.at(role)).flatMap(({ subjects = [] }) => subjects));
      });
    }
    // Who was asked about before all of it was in view may have been asked about in the moment before a change.
    void Promise.all(views).then(() => {
      if (!signal.aborted) this.#note([...this.#followers.keys()]);
    });
    return life;
  }

  #tell(subjects: readonly Subject[]): void {
    const concerned = [...this.#followers].filter(([, account]) => subjects.some((subject) => isOf(account, subject)));
    this.#note(concerned.map(([follower]) => follower));
  }

  #note(followers: readonly string[]): void {
    if (followers.length === 0) return;
    for (const follower of followers) this.#changed.add(follower);
    this.#cancel ??= this.#options.clock.after(SETTLING, () => {
      this.#cancel = undefined;
      const changed = [...this.#changed];
      this.#changed.clear();
      for (const follower of changed) {
        const account = this.#followers.get(follower);
        if (account) this.#options.onChange(follower, account);
      }
    });
  }
}

/** The role that a binding gives. */
function roleOf({ metadata, roleRef }: Binding): string {
  return keyOf(roleRef.kind, roleRef.kind === "Role" ? metadata.namespace : undefined, roleRef.name);
}

function keyOf(kind: string, namespace: string | undefined, name: string): string {
  return `${kind} ${namespace ?? ""}/${name}`;
}

function isOf({ user, groups }: Account, { kind, namespace, name }: Subject): boolean {
  if (kind === "Group") return groups.includes(name);
  return user === (kind === "ServiceAccount" ? `system:serviceaccount:${namespace}:${name}` : name);
}
