import type { Clock } from "#lib/clock";
import type { Attributes } from "./attributes.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import type { Authorizer } from "./rbac.ts";
import { Group } from "./users.ts";

/** Requests that last, such as watches: each ends when the right to it does. */
export interface StandingRequests {
  /** Fires when the request is not allowed any more. It is forgotten when `over` fires. */
  whileAllowed(attributes: Attributes, over: AbortSignal): AbortSignal;
  close(): void;
}

/**
 * Milliseconds in which changes of roles and bindings are gathered before open requests are looked at again: when many
 * clusters go at once, all watches are checked a few times a second and not once for every object.
 */
const GATHERING = 250;

const POLICY: ReadonlySet<string> = new Set([
  Stored.roles,
  Stored.roleBindings,
  Stored.clusterRoles,
  Stored.clusterRoleBindings,
]);

export function createStandingRequests(parts: {
  readonly reader: ObjectReader;
  readonly authorizer: Pick<Authorizer, "authorize">;
  readonly clock: Clock;
}): StandingRequests {
  const { reader, authorizer, clock } = parts;
  const standing = new Map<AbortController, Attributes>();
  let cancel: (() => void) | undefined;

  const check = () => {
    cancel = undefined;
    for (const [controller, attributes] of standing) {
      if (authorizer.authorize(attributes).allowed) continue;
      standing.delete(controller);
      controller.abort();
    }
  };
  const unsubscribe = reader.subscribe(({ type, resource }) => {
    // What is new can only give rights.
    if (type === "ADDED" || standing.size === 0 || !POLICY.has(resource)) return;
    cancel ??= clock.after(GATHERING, check);
  });

  return {
    whileAllowed(attributes, over) {
      const controller = new AbortController();
      // Nothing can be taken from these.
      if (attributes.user.groups.includes(Group.masters)) return controller.signal;
      standing.set(controller, attributes);
      over.addEventListener("abort", () => standing.delete(controller), { once: true });
      return controller.signal;
    },
    close() {
      cancel?.();
      unsubscribe();
      standing.clear();
    },
  };
}
